#include "common/obs/termination.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "absl/synchronization/notification.h"

namespace tangram {
namespace {

// OpenBLAS, for one, starts threads when it is loaded.
TEST(TerminationTest, AThreadFromBeforeDoesNotTakeTheSignal) {
  absl::Notification is_done;
  std::thread before([&] { is_done.WaitForNotification(); });
  HoldTerminationSignals();
  kill(getpid(), SIGTERM);
  EXPECT_EQ(WaitForTermination(), SIGTERM);
  kill(getpid(), SIGINT);
  EXPECT_EQ(WaitForTermination(), SIGINT);
  is_done.Notify();
  before.join();
}

}  // namespace
}  // namespace tangram
