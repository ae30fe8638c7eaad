#ifndef TANGRAM_COMMON_OBS_TERMINATION_H_
#define TANGRAM_COMMON_OBS_TERMINATION_H_

namespace tangram {

// Keeps SIGTERM and SIGINT for WaitForTermination from now on. Call it once,
// before the process starts another thread, because threads inherit this.
// Threads that libraries have started before do no harm.
void HoldTerminationSignals();

// Waits for one of the signals and returns its number. Needs
// HoldTerminationSignals.
int WaitForTermination();

// Ends the wait as SIGTERM does. Callable from any thread.
void RequestTermination();

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_TERMINATION_H_
