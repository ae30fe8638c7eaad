#ifndef TANGRAM_CLI_ARGS_COMPLETE_H_
#define TANGRAM_CLI_ARGS_COMPLETE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/args/command_tree.h"

namespace tangram {

// Words that may be typed next.
struct Completion {
  struct Candidate {
    std::string text;
    std::string help;  // May be empty.
    bool operator==(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  bool files = false;  // The shell should offer file names as well.
};

// Completes the last of `words`, the words after the program's name. Every
// candidate begins with that word, which may be empty.
Completion Complete(const CommandTree& tree,
                    absl::Span<const std::string> words);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMPLETE_H_
