#ifndef TANGRAM_CLI_ARGS_MANUAL_PAGE_H_
#define TANGRAM_CLI_ARGS_MANUAL_PAGE_H_

#include <string>
#include <vector>

#include "cli/args/command_tree.h"

namespace tangram {

struct ManualPage {
  std::string name;  // "tangram-job-watch"; its file is that with ".1".
  std::string text;  // man(7).
};

// A page of each command, the whole program's first.
std::vector<ManualPage> ManualPages(const CommandTree& tree);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_MANUAL_PAGE_H_
