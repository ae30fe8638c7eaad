#include "coordinator/heap_trimmer.h"

#include <gtest/gtest.h>

namespace tangram {
namespace {

class HeapTrimmerTest : public testing::Test {
 protected:
  // Ticks so often, and returns how often the heap was trimmed.
  int Tick(int count, int64_t num_ended, bool is_idle) {
    const int before = num_trims_;
    for (int i = 0; i < count; ++i) trimmer_.Tick(num_ended, is_idle);
    return num_trims_ - before;
  }

  double resident_bytes_ = 0;
  int num_trims_ = 0;
  HeapTrimmer trimmer_{{.ticks_between_looks = 20,
                        .ticks_between_trims = 240,
                        .much_bytes = 100,
                        .resident_bytes = [this] { return resident_bytes_; },
                        .trim = [this] { ++num_trims_; }}};
};

TEST_F(HeapTrimmerTest, IdleHeapsAreTrimmedAtOnceAfterAPlan) {
  EXPECT_EQ(Tick(1, 0, /*is_idle=*/true), 0);
  EXPECT_EQ(Tick(1, 1, /*is_idle=*/true), 1);
  EXPECT_EQ(Tick(1, 1, /*is_idle=*/true), 0);
}

TEST_F(HeapTrimmerTest, HeapsAreTrimmedAtOnceWhenNothingRunsAnyMore) {
  EXPECT_EQ(Tick(3, 0, /*is_idle=*/false), 0);
  EXPECT_EQ(Tick(3, 0, /*is_idle=*/true), 1);
}

TEST_F(HeapTrimmerTest, IdleHeapsAreTrimmedNowAndThenAsMessagesTakeMemoryToo) {
  EXPECT_EQ(Tick(200, 0, /*is_idle=*/true), 10);
}

TEST_F(HeapTrimmerTest, PlansThatRunAreLeftAloneWhileLittleIsTaken) {
  resident_bytes_ = 100;
  EXPECT_EQ(Tick(239, 5, /*is_idle=*/false), 0);
  // Then the plans that ended meanwhile count.
  EXPECT_EQ(Tick(1, 5, /*is_idle=*/true), 1);
}

TEST_F(HeapTrimmerTest, HeapsAreTrimmedEveryMinuteWhilePlansRun) {
  EXPECT_EQ(Tick(480, 5, /*is_idle=*/false), 2);
}

TEST_F(HeapTrimmerTest, MuchMemoryIsGivenBackWhilePlansRun) {
  resident_bytes_ = 1000;
  EXPECT_EQ(Tick(20, 0, /*is_idle=*/false), 1);
  // As much is still in use: nothing more can be given back.
  EXPECT_EQ(Tick(40, 0, /*is_idle=*/false), 0);
  resident_bytes_ = 1101;
  EXPECT_EQ(Tick(20, 0, /*is_idle=*/false), 1);
}

}  // namespace
}  // namespace tangram
