#include "coordinator/rpc/job_watchers.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace tangram {
namespace {

// Returns once all looks that were due before have ended.
void AwaitLooks(JobWatchers& watchers) {
  std::promise<void> looked;
  const auto last = watchers.Watch("last", [&] { looked.set_value(); });
  looked.get_future().wait();
}

TEST(JobWatchersTest, WatchersLookAtOnceAndWhenTold) {
  JobWatchers watchers;
  std::string looks;
  const auto a = watchers.Watch("a", [&] { looks += "a"; });
  const auto b = watchers.Watch("b", [&] { looks += "b"; });
  AwaitLooks(watchers);
  EXPECT_EQ(looks, "ab");
  watchers.Notify("b");
  watchers.Notify("c");
  AwaitLooks(watchers);
  EXPECT_EQ(looks, "abb");
  watchers.NotifyAll();
  AwaitLooks(watchers);
  EXPECT_EQ(looks, "abbab");
}

TEST(JobWatchersTest, ADroppedWatcherDoesNotLook) {
  JobWatchers watchers;
  int looks = 0;
  auto watch = watchers.Watch("a", [&] { ++looks; });
  AwaitLooks(watchers);
  watch.reset();
  watchers.Notify("a");
  AwaitLooks(watchers);
  EXPECT_EQ(looks, 1);
}

TEST(JobWatchersTest, NoticesThatGatherDuringALookAreOneMore) {
  JobWatchers watchers;
  std::promise<void> began;
  std::promise<void> may_end;
  int looks = 0;
  const auto watch = watchers.Watch("a", [&] {
    if (++looks > 1) return;
    began.set_value();
    may_end.get_future().wait();
  });
  began.get_future().wait();
  // Does not wait for looks.
  for (int i = 0; i < 3; ++i) watchers.Notify("a");
  watchers.NotifyAll();
  may_end.set_value();
  AwaitLooks(watchers);
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace tangram
