#include "coordinator/bounds/work_bounds.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

// Every atom is a stage at most.
const std::vector<int> kWhole(4, 1);

// Four atoms on islands of 4 GPUs and 35 bytes, and of 2 GPUs and 45 bytes.
WorkBounds TwoIslands(const PerformanceProfile& on_first,
                      const PerformanceProfile& on_second,
                      absl::Span<const int> most_stages, int num_microbatches) {
  const std::vector<IslandCapacity> islands = {{4, 35, 4}, {2, 45, 2}};
  const std::vector<std::vector<PerformanceProfile>> profiles = {
      std::vector<PerformanceProfile>(4, on_first),
      std::vector<PerformanceProfile>(4, on_second)};
  return WorkBounds(islands, profiles, most_stages, num_microbatches);
}

// Atoms of 8 GPU-seconds on island 0 and of 16 on island 1: their mean is 12,
// so c = 2/3 and 4/3, N / c = 6 and 1.5. An atom needs at least 10 bytes on
// island 0 and 20 on island 1.
WorkBounds FastAndSlow(int num_microbatches = 10) {
  return TwoIslands({.min_gpu_seconds = 8, .min_total_bytes = 10},
                    {.min_gpu_seconds = 16, .min_total_bytes = 20}, kWhole,
                    num_microbatches);
}

TEST(WorkBoundsTest, SliceNeedsItsWorkOverTheIslandsGpus) {
  EXPECT_DOUBLE_EQ(FastAndSlow().SliceSeconds({0, 2}, 0), 4);   // 2 · 8 / 4
  EXPECT_DOUBLE_EQ(FastAndSlow().SliceSeconds({0, 2}, 1), 16);  // 2 · 16 / 2
}

TEST(WorkBoundsTest, PrefixSharesTheIslandsThatRemain) {
  const WorkBounds bounds = FastAndSlow();
  EXPECT_DOUBLE_EQ(bounds.PrefixSeconds(2, 0b01), 4);   // 24 / 6
  EXPECT_DOUBLE_EQ(bounds.PrefixSeconds(2, 0b10), 16);  // 24 / 1.5
  EXPECT_DOUBLE_EQ(bounds.PrefixSeconds(2, 0b11), 24 / 7.5);
  EXPECT_DOUBLE_EQ(bounds.PrefixSeconds(0, 0), 0);
  EXPECT_TRUE(std::isinf(bounds.PrefixSeconds(1, 0)));
}

TEST(WorkBoundsTest, PairIterationBoundsSliceAndRest) {
  const WorkBounds bounds = FastAndSlow();
  // Slice 3 · 8 / 4 = 6, rest 12 / 1.5 = 8; 6 + 8 + 9 · 8.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 3}, 0), 86);
  // The whole model on island 0: 4 · 8 / 4 = 8, no rest; 8 + 9 · 8.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 4}, 0), 80);
}

TEST(WorkBoundsTest, SmallStagesRunOneAfterTheOther) {
  // As FastAndSlow, but stages have at most 2 GPUs of island 0 and 1 of island
  // 1: g / c = 3 and 0.75.
  const std::vector<IslandCapacity> islands = {{4, 35, 2}, {2, 45, 1}};
  const std::vector<std::vector<PerformanceProfile>> profiles = {
      std::vector<PerformanceProfile>(4, {.min_gpu_seconds = 8}),
      std::vector<PerformanceProfile>(4, {.min_gpu_seconds = 16})};
  const WorkBounds bounds(islands, profiles, kWhole, /*num_microbatches=*/10);
  // The slowest stage is as above. Latencies: 3 · 8 / 2 = 12 of the slice, and
  // 12 / 0.75 = 16 of the rest; 12 + 16 + 9 · 8.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 3}, 0), 100);
  // 4 · 8 / 2 + 9 · 8.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 4}, 0), 88);
}

TEST(WorkBoundsTest, AMicrobatchDoesNotRunOnAllIslandsAtOnce) {
  const std::vector<IslandCapacity> islands = {
      {4, 35, 4}, {4, 35, 4}, {4, 35, 4}};
  const std::vector<std::vector<PerformanceProfile>> profiles(
      3, std::vector<PerformanceProfile>(4, {.min_gpu_seconds = 8}));
  const WorkBounds bounds(islands, profiles, kWhole, /*num_microbatches=*/10);
  // Slice 2 · 8 / 4 = 4. The rest takes 2 · 8 / 4 = 4 wherever it is, and half
  // of that for each of two islands; 4 + 4 + 9 · 4.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 2}, 0), 44);
}

// As FastAndSlow, but an atom takes at least 5 and 9 s, on however many GPUs.
WorkBounds WithLatencies(absl::Span<const int> most_stages) {
  return TwoIslands({.min_gpu_seconds = 8, .min_latency_s = 5},
                    {.min_gpu_seconds = 16, .min_latency_s = 9}, most_stages,
                    /*num_microbatches=*/10);
}

TEST(WorkBoundsTest, AStageTakesAtLeastAsLongAsAnUndividedAtom) {
  const WorkBounds bounds = WithLatencies(kWhole);
  EXPECT_DOUBLE_EQ(bounds.SliceSeconds({0, 1}, 0), 5);  // Not 8 / 4.
  // The work counts where it is more: 3 · 8 / 4.
  EXPECT_DOUBLE_EQ(bounds.SliceSeconds({0, 3}, 0), 6);
  // Latencies 3 · 5 and 9, slowest stage 9.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 3}, 0), 15 + 9 + 9 * 9);
  // All on island 0: latency 20, slowest stage 4 · 8 / 4.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 4}, 0), 20 + 9 * 8);
  // The least latency of any island, 20. Work: 48 / 7.5.
  EXPECT_DOUBLE_EQ(bounds.IterationSeconds(), 20 + 9 * 6.4);
}

TEST(WorkBoundsTest, AnAtomThatCanBeCutIsSeveralStages) {
  const WorkBounds bounds = WithLatencies(std::vector<int>(4, 2));
  EXPECT_DOUBLE_EQ(bounds.SliceSeconds({0, 1}, 0), 2.5);  // 5 / 2
  // Slice: 3 · 8 / 4 = 6. Rest: 12 / 1.5 = 8, more than 9 / 2.
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 3}, 0), 15 + 9 + 9 * 8);
}

TEST(WorkBoundsTest, LatenciesOfIslandsThatMustNotBeUsedDoNotCount) {
  const std::vector<IslandCapacity> islands = {{4, 35, 4}, {2, 45, 2}, {}};
  std::vector<std::vector<PerformanceProfile>> profiles(
      3, std::vector<PerformanceProfile>(
             4, {.min_gpu_seconds = 8, .min_latency_s = 5}));
  profiles[2].assign(4, {.min_gpu_seconds = 8, .min_latency_s = 1});
  const WorkBounds bounds(islands, profiles, kWhole, /*num_microbatches=*/1);
  EXPECT_DOUBLE_EQ(bounds.PairIterationSeconds({0, 3}, 0), 20);
}

TEST(WorkBoundsTest, ARestWithoutIslandsIsInNoPipeline) {
  const std::vector<IslandCapacity> islands = {{4, 35, 4}, {0, 0, 0}};
  const std::vector<std::vector<PerformanceProfile>> profiles(
      2, std::vector<PerformanceProfile>(4, {.min_gpu_seconds = 8}));
  for (const int num_microbatches : {1, 10}) {
    const WorkBounds bounds(islands, profiles, kWhole, num_microbatches);
    EXPECT_EQ(bounds.PairIterationSeconds({0, 3}, 0),
              std::numeric_limits<double>::infinity());
  }
}

TEST(WorkBoundsTest, IterationBoundPoolsAllIslands) {
  EXPECT_DOUBLE_EQ(FastAndSlow().IterationSeconds(), 10 * 48 / 7.5);
}

TEST(WorkBoundsTest, MemoryIsComparedWithTheIslands) {
  const WorkBounds bounds = FastAndSlow();
  EXPECT_FALSE(bounds.ExceedsMemory({0, 3}, 0));  // 30 ≤ 35
  EXPECT_TRUE(bounds.ExceedsMemory({0, 4}, 0));   // 40 > 35
  EXPECT_TRUE(bounds.ExceedsMemory({0, 3}, 1));   // 60 > 45
  EXPECT_DOUBLE_EQ(bounds.LeastBytes({0, 4}), 40);
  EXPECT_DOUBLE_EQ(bounds.UsableBytes(), 80);
}

TEST(WorkBoundsTest, WorkShareIsRelativeToTheModel) {
  EXPECT_DOUBLE_EQ(FastAndSlow().WorkShare({1, 2}), 0.25);
  EXPECT_DOUBLE_EQ(FastAndSlow().WorkShare({0, 4}), 1);
}

TEST(WorkBoundsTest, ProfilesWithoutTimesBoundNothing) {
  const std::vector<IslandCapacity> islands = {{4, 35, 4}, {0, 0, 0}};
  const std::vector<std::vector<PerformanceProfile>> profiles(
      2, std::vector<PerformanceProfile>(3));
  const WorkBounds bounds(islands, profiles, kWhole, /*num_microbatches=*/10);
  EXPECT_EQ(bounds.PairIterationSeconds({0, 1}, 0), 0);
  EXPECT_EQ(bounds.IterationSeconds(), 0);
  EXPECT_EQ(bounds.PrefixSeconds(2, 0b10), 0);
  // Not even a slice without work runs on an island that must not be used.
  EXPECT_TRUE(std::isinf(bounds.SliceSeconds({0, 1}, 1)));
}

TEST(WorkBoundsTest, PlayedTimeIsThatOfStagesThatWaitForTheFirst) {
  // One stage of each island is largest: capacities 6 and 1.5, q = 9/10, work
  // 48: T = 48 / (6 / 10 + 1.5 · 0.9 / 10).
  EXPECT_DOUBLE_EQ(FastAndSlow().PlayedSeconds(), 48 / 0.735);
  // One microbatch is in one stage at a time: 48 / 6.
  EXPECT_DOUBLE_EQ(FastAndSlow(/*num_microbatches=*/1).PlayedSeconds(), 8);
}

TEST(WorkBoundsTest, PlayedTimeKnowsSmallStagesAndTheRest) {
  // Stages of at most 3 of 4 GPUs, and of 2 of 2: capacities 4.5, 1.5 and 1.5.
  const std::vector<IslandCapacity> islands = {{4, 35, 3}, {2, 45, 2}};
  const std::vector<std::vector<PerformanceProfile>> profiles = {
      std::vector<PerformanceProfile>(4, {.min_gpu_seconds = 8}),
      std::vector<PerformanceProfile>(4, {.min_gpu_seconds = 16})};
  const WorkBounds bounds(islands, profiles, kWhole, /*num_microbatches=*/2);
  // 4.5 / 2 + 1.5 / 4 + 1.5 / 8.
  EXPECT_DOUBLE_EQ(bounds.PlayedSeconds(), 48 / 2.8125);
}

TEST(WorkBoundsTest, PlayedTimeIsAtLeastTheLatencyOfAsManyStagesAsThereAre) {
  const std::vector<IslandCapacity> islands = {{1000, 35, 1000}};
  const std::vector<std::vector<PerformanceProfile>> profiles = {
      std::vector<PerformanceProfile>(
          2, {.min_gpu_seconds = 1, .min_latency_s = 3})};
  const std::vector<int> most_stages = {1, 1};
  const WorkBounds bounds(islands, profiles, most_stages,
                          /*num_microbatches=*/2);
  // Two stages of 6 s together: 6 / (1 − 1/4). With 4 s and 2 s, T = 2 · 4 = 4
  // + 2 · 2.
  EXPECT_DOUBLE_EQ(bounds.PlayedSeconds(), 8);
}

}  // namespace
}  // namespace tangram
