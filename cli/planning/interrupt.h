#ifndef TANGRAM_CLI_PLANNING_INTERRUPT_H_
#define TANGRAM_CLI_PLANNING_INTERRUPT_H_

namespace tangram {

// Makes SIGINT and SIGTERM ask the running command to stop. A command that has
// not stopped 1 s later is ended with exit code 130.
void HandleInterrupts();

// True after such a signal. Safe from any thread.
bool Interrupted();

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_INTERRUPT_H_
