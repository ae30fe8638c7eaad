#ifndef TANGRAM_CLI_PLANNING_INTERRUPT_H_
#define TANGRAM_CLI_PLANNING_INTERRUPT_H_

namespace tangram {

// From here on SIGINT and SIGTERM ask the running command to stop. One that
// has not stopped a second later is ended with exit code 130.
void HandleInterrupts();

// True once such a signal has come. Safe from any thread.
bool Interrupted();

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_INTERRUPT_H_
