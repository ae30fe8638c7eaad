#ifndef TANGRAM_COMMON_OBS_TERMINATION_H_
#define TANGRAM_COMMON_OBS_TERMINATION_H_

namespace tangram {

// SIGTERM and SIGINT stay pending from here on. To be called before the process
// starts its first other thread, which inherits it.
void HoldTerminationSignals();

// Waits for one of them and returns its number.
int WaitForTermination();

// Ends the wait as SIGTERM does, from any thread.
void RequestTermination();

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_TERMINATION_H_
