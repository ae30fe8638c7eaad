#ifndef TANGRAM_COMMON_OBS_TERMINATION_H_
#define TANGRAM_COMMON_OBS_TERMINATION_H_

namespace tangram {

// Keeps SIGTERM and SIGINT pending from now on. Must be called before the
// process starts another thread, because threads inherit this.
void HoldTerminationSignals();

// Waits for one of the signals and returns its number.
int WaitForTermination();

// Ends the wait as SIGTERM does. Callable from any thread.
void RequestTermination();

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_TERMINATION_H_
