#ifndef TANGRAM_CLI_ARGS_COMPLETE_H_
#define TANGRAM_CLI_ARGS_COMPLETE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/args/command_tree.h"

namespace tangram {

// What may be typed next.
struct Completion {
  struct Candidate {
    std::string text;
    std::string help;  // May be empty.
    bool operator==(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  bool files = false;  // Names of files too.
};

// Completes the last of `words`, which follow the program's name and may be
// empty. Candidates begin with it.
Completion Complete(const CommandTree& tree,
                    absl::Span<const std::string> words);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_COMPLETE_H_
