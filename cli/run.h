#ifndef TANGRAM_CLI_RUN_H_
#define TANGRAM_CLI_RUN_H_

#include <string>
#include <vector>

#include "cli/args/exit_code.h"
#include "cli/print/console.h"

namespace tangram {

// Does what `arguments` (without the program's name) ask for. An error is one
// line on console.err: "tangram: c1.yaml: groups[1].nodes: 0; expected ...".
ExitCode RunTangram(std::vector<std::string> arguments, Console& console);

// main of `tangram`: RunTangram on this process's console, with SIGINT handled.
int RunMain(int argc, char** argv);

}  // namespace tangram

#endif  // TANGRAM_CLI_RUN_H_
