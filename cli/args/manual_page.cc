#include "cli/args/manual_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/args/examples.h"
#include "cli/args/exit_code.h"
#include "common/obs/build_info.h"

namespace tangram {
namespace {

// The date of this edition of the pages.
constexpr char kEdition[] = "2026-11-26";

// Escapes plain text for man(7): "-" is not hyphenated, and a line that begins
// with "." or "'" is not a request.
std::string Escaped(const std::string& text) {
  const std::string escaped =
      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  const bool is_request =
      absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'");
  return is_request ? absl::StrCat("\\&", escaped) : escaped;
}

std::string Bold(const std::string& text) {
  return absl::StrCat("\\fB", Escaped(text), "\\fR");
}

std::string Synopsis(const CommandTree& tree, const std::string& command) {
  std::string text = absl::StrCat(".SH SYNOPSIS\n", Bold(command));
  for (const OptionHelp& option : tree.options) {
    if (!option.is_required || option.is_positional) continue;
    absl::StrAppend(&text, " ", Bold(option.name), " \\fI",
                    Escaped(option.value), "\\fR");
  }
  if (!tree.options.empty()) absl::StrAppend(&text, " [\\fIoptions\\fR]");
  if (!tree.subcommands.empty()) absl::StrAppend(&text, " \\fIcommand\\fR");
  for (const OptionHelp& option : tree.options) {
    if (!option.is_positional) continue;
    absl::StrAppend(&text, " \\fI", Escaped(option.name), "\\fR");
  }
  return absl::StrCat(text, "\n");
}

void AppendEntry(const std::string& tag, const std::string& help,
                 std::string& text) {
  absl::StrAppend(&text, ".TP\n", tag, "\n");
  // A line of source for each 70 columns: the page is read as text, too.
  constexpr size_t kMostColumns = 70;
  std::string line;
  for (const absl::string_view word :
       absl::StrSplit(help, ' ', absl::SkipEmpty())) {
    if (!line.empty() && line.size() + 1 + word.size() > kMostColumns) {
      absl::StrAppend(&text, Escaped(line), "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  absl::StrAppend(&text, Escaped(line), "\n");
}

std::string Options(const CommandTree& tree) {
  if (tree.options.empty()) return "";
  std::string text = ".SH OPTIONS\n";
  for (const OptionHelp& option : tree.options) {
    std::string tag = Bold(option.name);
    if (!option.value.empty()) {
      absl::StrAppend(&tag, " \\fI", Escaped(option.value), "\\fR");
    }
    AppendEntry(
        tag,
        option.default_value.empty()
            ? option.help
            : absl::StrCat(option.help, " [", option.default_value, "]"),
        text);
  }
  return text;
}

std::string Commands(const CommandTree& tree, const std::string& name) {
  if (tree.subcommands.empty()) return "";
  std::string text = ".SH COMMANDS\n";
  for (const CommandTree& subcommand : tree.subcommands) {
    AppendEntry(Bold(absl::StrCat(name, "-", subcommand.name, "(1)")),
                subcommand.help, text);
  }
  return text;
}

std::string ExitStatus() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& entry : ExitCodeMeanings()) {
    AppendEntry(absl::StrCat(static_cast<int>(entry.code)), entry.meaning,
                text);
  }
  return text;
}

// Returns the examples of a command ("plan") as they are typed.
std::string ExampleLines(absl::string_view command) {
  const absl::string_view lines = ExamplesOf(command);
  if (lines.empty()) return "";
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const absl::string_view line :
       absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, Escaped(std::string(line)), "\n");
  }
  return absl::StrCat(text, ".fi\n");
}

void AppendPages(const CommandTree& tree, const std::string& parent,
                 std::vector<ManualPage>& pages) {
  const std::string command =
      parent.empty() ? tree.name : absl::StrCat(parent, " ", tree.name);
  const std::string name = absl::StrReplaceAll(command, {{" ", "-"}});
  pages.push_back(
      {name,
       absl::StrCat(
           ".TH ", absl::AsciiStrToUpper(name), " 1 \"", kEdition,
           "\" \"tangram ", Version(), "\" \"Tangram\"\n.SH NAME\n",
           Escaped(name), " \\- ", Escaped(tree.help), "\n",
           Synopsis(tree, command), Commands(tree, name), Options(tree),
           ExampleLines(parent.empty() ? absl::string_view()
                                       : absl::string_view(command).substr(
                                             command.find(' ') + 1)),
           ExitStatus())});
  for (const CommandTree& subcommand : tree.subcommands) {
    AppendPages(subcommand, command, pages);
  }
}

}  // namespace

std::vector<ManualPage> ManualPages(const CommandTree& tree) {
  std::vector<ManualPage> pages;
  AppendPages(tree, "", pages);
  return pages;
}

}  // namespace tangram
