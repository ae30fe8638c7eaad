#include "absl/status/status.h"
#include "cli/args/command_line.h"
#include "cli/args/complete.h"
#include "cli/commands/commands.h"
#include "common/base/field_error.h"

namespace tangram {
namespace {

// The script of each shell calls `tangram __complete WORD...`. Each line of the
// answer is a candidate, "text<tab>help". The line ":files" asks the shell to
// add file names.
constexpr char kBash[] = R"(_tangram() {
  local IFS=$'\n' line
  COMPREPLY=()
  while read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames
      COMPREPLY+=($(compgen -f -- "$2"))
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _tangram tangram
)";
// clang-format off: it would format the script as C++.
constexpr char kZsh[] = R"zsh(#compdef tangram
_tangram() {
  local line
  local -a found
  for line in ${(f)"$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    if [[ $line == :files ]]; then
      _files
    elif [[ $line == *$'\t'?* ]]; then
      found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    else
      found+=("${${line%%$'\t'*}//:/\\:}")
    fi
  done
  _describe tangram found
}
# Loaded by the first completion, the file is the function itself.
if [[ ${funcstack[1]} == _tangram ]]; then
  _tangram "$@"
else
  compdef _tangram tangram
fi
)zsh";
// clang-format on
constexpr char kFish[] = R"(function __tangram_complete
  set -l words (commandline --tokenize --cut-at-cursor)
  set -l current (commandline --current-token --cut-at-cursor)
  for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete --command tangram --no-files --arguments '(__tangram_complete)'
)";

}  // namespace

CommandResult Run(const CompletionOptions& options, Console& console) {
  if (options.shell == "bash") {
    console.out << kBash;
  } else if (options.shell == "zsh") {
    console.out << kZsh;
  } else if (options.shell == "fish") {
    console.out << kFish;
  } else {
    return FieldError("shell", options.shell, "bash, fish or zsh");
  }
  return ExitCode::kOk;
}

CommandResult Run(const CompleteOptions& options, Console& console) {
  const Completion completion = Complete(DescribeCommandLine(), options.words);
  for (const Completion::Candidate& candidate : completion.candidates) {
    console.out << candidate.text << "\t" << candidate.help << "\n";
  }
  if (completion.files) console.out << ":files\n";
  return ExitCode::kOk;
}

}  // namespace tangram
