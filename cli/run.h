#ifndef TANGRAM_CLI_RUN_H_
#define TANGRAM_CLI_RUN_H_

#include <string>
#include <vector>

#include "cli/args/exit_code.h"
#include "cli/print/console.h"

namespace tangram {

// Runs the command in `arguments`, which do not include the program's name, and
// returns its exit code. An error is one line on console.err:
// "tangram: c1.yaml: groups[1].nodes: 0; expected ...".
ExitCode RunTangram(std::vector<std::string> arguments, Console& console);

// The main function of `tangram`: handles SIGINT and SIGTERM and calls
// RunTangram with this process's console.
int RunMain(int argc, char** argv);

}  // namespace tangram

#endif  // TANGRAM_CLI_RUN_H_
