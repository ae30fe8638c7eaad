#include "worker/service/slots.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

const auto kNever = [] { return false; };

TEST(SlotsTest, NoMoreAreTakenThanThereAre) {
  Slots slots(2);
  std::atomic<int> at_once = 0;
  std::atomic<int> most_at_once = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(slots.Take(kNever));
        most_at_once = std::max(most_at_once.load(), ++at_once);
        --at_once;
        slots.GiveBack();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most_at_once, 2);
  EXPECT_EQ(slots.num_taken(), 0);
}

TEST(SlotsTest, WhoeverIsNotWantedAnyMoreDoesNotWait) {
  Slots slots(1);
  EXPECT_TRUE(slots.Take(kNever));
  EXPECT_FALSE(slots.Take([] { return true; }));
  EXPECT_EQ(slots.num_taken(), 1);
}

}  // namespace
}  // namespace tangram
