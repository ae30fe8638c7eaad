#ifndef TANGRAM_CLI_ARGS_MANUAL_PAGE_H_
#define TANGRAM_CLI_ARGS_MANUAL_PAGE_H_

#include <string>
#include <vector>

#include "cli/args/command_tree.h"

namespace tangram {

struct ManualPage {
  std::string name;  // "tangram-job-watch"; its file is NAME.1.
  std::string text;  // In the markup of man(7).
};

// Returns a page for each command; the page of the whole program comes first.
std::vector<ManualPage> ManualPages(const CommandTree& tree);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_MANUAL_PAGE_H_
