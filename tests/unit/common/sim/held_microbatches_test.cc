#include "common/sim/held_microbatches.h"

#include <algorithm>
#include <vector>

#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<int> Held(PipelineSchedule schedule, int p, int num_microbatches) {
  const std::vector<double> bytes(p, 1.0);
  return MicrobatchesHeldAtPeak({.schedule = schedule,
                                 .num_devices = p,
                                 .num_microbatches = num_microbatches},
                                bytes);
}

TEST(MicrobatchesHeldAtPeakTest, GpipeHoldsAll) {
  EXPECT_THAT(Held(PipelineSchedule::kGpipe, 3, 7), ElementsAre(7, 7, 7));
}

TEST(MicrobatchesHeldAtPeakTest, OneFOneBHoldsWhatTheClosedFormulaSays) {
  for (int p = 1; p <= 6; ++p) {
    for (int b = 1; b <= 8; ++b) {
      const std::vector<int> held = Held(PipelineSchedule::kOneFOneB, p, b);
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(held[s], InFlightMicrobatches(p - 1 - s, b));
      }
    }
  }
}

TEST(MicrobatchesHeldAtPeakTest, ZeroBubbleHoldsOnAllDevicesWhatTheFirstDoes) {
  EXPECT_THAT(Held(PipelineSchedule::kZeroBubbleH1, 4, 9), Each(4));
  EXPECT_THAT(Held(PipelineSchedule::kZeroBubbleH1, 4, 3), Each(3));
}

TEST(MicrobatchesHeldAtPeakTest, IsTheSameHoweverManyMicrobatchesFollow) {
  constexpr int kMany = 1'000'000'000;
  EXPECT_THAT(Held(PipelineSchedule::kGpipe, 2, kMany), Each(kMany));
  EXPECT_THAT(Held(PipelineSchedule::kOneFOneB, 3, kMany),
              ElementsAre(3, 2, 1));
  EXPECT_THAT(Held(PipelineSchedule::kZeroBubbleH1, 4, kMany), Each(4));
  for (int p = 1; p <= 5; ++p) {
    for (int v = 1; v <= 4; ++v) {
      // Chunks have different sizes, so the result depends on the chunks that
      // are held.
      std::vector<double> bytes;
      for (int s = 0; s < p * v; ++s) bytes.push_back(1 + s * s % 7);
      PipelineShape shape = {PipelineSchedule::kInterleaved, p, v, 5 * p};
      const std::vector<int> held = MicrobatchesHeldAtPeak(shape, bytes);
      shape.num_microbatches = 50 * p;
      EXPECT_EQ(MicrobatchesHeldAtPeak(shape, bytes), held);
    }
  }
}

TEST(MicrobatchesHeldAtPeakTest, InterleavedHoldsItsWarmUpAndOneMore) {
  // Device 0: F0.0 F0.1 F2.0 F2.1 F0.2; then each backward pass of stage 2
  // makes room for a forward pass. Device 1: F1.0 F1.1 F3.0.
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 2, 2, 4};
  EXPECT_THAT(MicrobatchesHeldAtPeak(shape, {1, 1, 1, 1}),
              ElementsAre(3, 2, 2, 1));
}

TEST(MicrobatchesHeldAtPeakTest, CountsAtThePeakOfTheDevicesBytes) {
  // Device 0 as above, but stage 0 is large: after B2.0 F0.3 it holds four
  // microbatches of stage 0 and one of stage 2, 4 · 10 + 1 > 3 · 10 + 2.
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 2, 2, 4};
  EXPECT_THAT(MicrobatchesHeldAtPeak(shape, {10, 1, 1, 1}),
              ElementsAre(4, 2, 1, 1));
}

TEST(MicrobatchesHeldAtPeakTest, AStageHoldsTheMicrobatchesOfItsWarmUp) {
  const PipelineShape shape = {.num_devices = 3,
                               .num_microbatches = 1'000'000,
                               .warm_up_passes = {40, 3, 1}};
  EXPECT_THAT(MicrobatchesHeldAtPeak(shape, {1, 1, 1}), ElementsAre(40, 3, 1));
  PipelineShape few = shape;
  few.num_microbatches = 7;
  EXPECT_THAT(MicrobatchesHeldAtPeak(few, {1, 1, 1}), ElementsAre(7, 3, 1));
}

// The most microbatches that device `d` holds, counted pass by pass.
int MostHeld(const PipelineShape& shape, int d) {
  const PassKind last =
      shape.splits_backward() ? PassKind::kWeightGradient : PassKind::kBackward;
  int held = 0;
  int most = 0;
  for (PassSequence passes(shape, d); !passes.done(); passes.Advance()) {
    if (passes.next().kind == PassKind::kForward) ++held;
    if (passes.next().kind == last) --held;
    most = std::max(most, held);
  }
  return most;
}

TEST(MicrobatchesHeldAtPeakPropertyTest, EqualsTheCountOfPasses) {
  for (const PipelineSchedule schedule : kPipelineSchedules) {
    for (int p = 1; p <= 6; ++p) {
      for (int b = p; b <= 4 * p; b += p) {
        PipelineShape shape = {schedule, p, 1, b};
        const std::vector<double> bytes(p, 1.0);
        const std::vector<int> held = MicrobatchesHeldAtPeak(shape, bytes);
        for (int d = 0; d < p; ++d) EXPECT_EQ(held[d], MostHeld(shape, d));
      }
    }
  }
}

TEST(MicrobatchesHeldAtPeakTest, AWarmUpOfAllMicrobatchesIsNotCountedOut) {
  // Counted pass by pass, this takes minutes.
  const int all = 1 << 30;
  const PipelineShape shape = {.num_devices = 64,
                               .num_microbatches = all,
                               .warm_up_passes = std::vector<int>(64, all)};
  EXPECT_THAT(MicrobatchesHeldAtPeak(shape, std::vector<double>(64, 1.0)),
              Each(all));
}

TEST(MicrobatchesHeldAtPeakTest, CountingStopsWhenPolled) {
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 256, 64, 1024};
  int polls = 0;
  StopPoll poll([&] { return ++polls == 2; });
  MicrobatchesHeldAtPeak(shape, std::vector<double>(shape.num_stages(), 1.0),
                         poll);
  EXPECT_EQ(polls, 2);
}

}  // namespace
}  // namespace tangram
