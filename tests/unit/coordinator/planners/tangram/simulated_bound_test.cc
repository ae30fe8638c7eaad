#include "coordinator/planners/tangram/simulated_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "common/sim/play_pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool NeverStop() { return false; }

// A slice and the times of its stages, for the simulator.
struct TimedSlice {
  AtomRange atoms;
  int island = 0;
  std::vector<StageTimes> stages;
};

BoundSlice BoundOf(const TimedSlice& slice, int num_microbatches) {
  std::vector<double> seconds;
  for (const StageTimes& stage : slice.stages) {
    seconds.push_back(stage.forward_s + stage.backward_s);
  }
  const StageTimes& first = slice.stages.front();
  return MakeBoundSlice(slice.atoms, slice.island, seconds,
                        first.sync_s + first.optimizer_s, num_microbatches);
}

double Played(const std::vector<const TimedSlice*>& pipeline,
              int num_microbatches) {
  std::vector<StageTimes> stages;
  for (const TimedSlice* slice : pipeline) {
    stages.insert(stages.end(), slice->stages.begin(), slice->stages.end());
  }
  const PipelineShape shape = {.num_devices = static_cast<int>(stages.size()),
                               .num_microbatches = num_microbatches};
  return PlayPipeline(shape, stages).iteration_time_s;
}

// Returns the least simulated time of all compositions, by trying each.
double LeastPlayed(int num_atoms, int num_microbatches,
                   const std::vector<TimedSlice>& slices) {
  double least_s = kNoLimit;
  std::vector<const TimedSlice*> pipeline;
  const std::function<void(int, int)> extend = [&](int atom, int islands) {
    if (atom == num_atoms) {
      least_s = std::min(least_s, Played(pipeline, num_microbatches));
      return;
    }
    for (const TimedSlice& slice : slices) {
      const int island = 1 << slice.island;
      if (slice.atoms.begin != atom || (islands & island) != 0) continue;
      pipeline.push_back(&slice);
      extend(slice.atoms.end, islands | island);
      pipeline.pop_back();
    }
  };
  extend(0, 0);
  return least_s;
}

std::vector<TimedSlice> RandomSlices(int num_atoms, int num_islands,
                                     std::mt19937& rng) {
  std::uniform_real_distribution<double> seconds(0.1, 2);
  std::vector<TimedSlice> slices;
  for (int begin = 0; begin < num_atoms; ++begin) {
    for (int end = begin + 1; end <= num_atoms; ++end) {
      for (int island = 0; island < num_islands; ++island) {
        TimedSlice& slice =
            slices.emplace_back(TimedSlice{{begin, end}, island});
        const int num_stages = 1 + static_cast<int>(rng() % (end - begin));
        for (int s = 0; s < num_stages; ++s) {
          slice.stages.push_back({.forward_s = seconds(rng),
                                  .backward_s = 2 * seconds(rng),
                                  .send_forward_s = 0.1 * seconds(rng),
                                  .send_backward_s = 0.1 * seconds(rng),
                                  .sync_s = seconds(rng),
                                  .optimizer_s = 0.1 * seconds(rng)});
        }
      }
    }
  }
  return slices;
}

// The first of alike islands, for islands that are not.
std::vector<int> Unlike(int num_islands) {
  std::vector<int> first_alike(num_islands);
  std::iota(first_alike.begin(), first_alike.end(), 0);
  return first_alike;
}

TEST(SimulatedBoundTest, IsAtMostTheSimulatedTimeOfEveryComposition) {
  double tightest = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const int num_atoms = 2 + static_cast<int>(rng() % 3);
    const int num_islands = 1 + static_cast<int>(rng() % 3);
    const int num_microbatches = 1 + static_cast<int>(rng() % 12);
    const std::vector<TimedSlice> slices =
        RandomSlices(num_atoms, num_islands, rng);
    std::vector<BoundSlice> bounds;
    for (const TimedSlice& slice : slices) {
      bounds.push_back(BoundOf(slice, num_microbatches));
    }
    const double least_s = LeastPlayed(num_atoms, num_microbatches, slices);
    ASSERT_OK_AND_ASSIGN(const double bound_s,
                         LeastIterationSeconds(num_atoms, Unlike(num_islands),
                                               bounds, kNoLimit, NeverStop));
    EXPECT_LE(bound_s, least_s);
    EXPECT_GT(bound_s, 0.5 * least_s);
    tightest = std::max(tightest, bound_s / least_s);
  }
  EXPECT_GT(tightest, 0.99);  // One stage leaves nothing to overlap.
}

TEST(SimulatedBoundTest, ManyIslandsOnlyLowerIt) {
  std::mt19937 rng(1);
  const std::vector<TimedSlice> slices = RandomSlices(3, 3, rng);
  std::vector<BoundSlice> bounds;
  for (const TimedSlice& slice : slices) bounds.push_back(BoundOf(slice, 8));
  ASSERT_OK_AND_ASSIGN(
      const double few,
      LeastIterationSeconds(3, Unlike(3), bounds, kNoLimit, NeverStop));
  ASSERT_OK_AND_ASSIGN(
      const double many,
      LeastIterationSeconds(3, Unlike(16), bounds, kNoLimit, NeverStop));
  EXPECT_LE(many, few);
  EXPECT_GT(many, 0);
}

// Adds copies of island 3, so that there are 16 islands.
std::vector<BoundSlice> WithCopiesOfThree(std::vector<BoundSlice> slices) {
  for (const BoundSlice& slice : std::vector<BoundSlice>(slices)) {
    for (int island = 4; island < 16 && slice.island == 3; ++island) {
      slices.push_back(slice);
      slices.back().island = island;
    }
  }
  return slices;
}

// Thirteen of sixteen islands are alike. They can take one atom each, so not
// more than four of them are in use.
TEST(SimulatedBoundTest, ManyAlikeIslandsHoldOneSliceEach) {
  double sum_of_shares = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<BoundSlice> bounds;
    for (const TimedSlice& slice : RandomSlices(4, 4, rng)) {
      if (slice.island == 3 && slice.atoms.size() > 1) continue;
      bounds.push_back(BoundOf(slice, 8));
    }
    bounds = WithCopiesOfThree(bounds);
    std::vector<int> first_alike = Unlike(16);
    std::fill(first_alike.begin() + 3, first_alike.end(), 3);
    std::vector<BoundSlice> on_seven = bounds;
    std::erase_if(on_seven,
                  [](const BoundSlice& slice) { return slice.island >= 7; });
    const auto least_s = [](const std::vector<int>& alike,
                            const std::vector<BoundSlice>& slices) {
      return LeastIterationSeconds(4, alike, slices, kNoLimit, NeverStop)
          .value();
    };
    const double exact = least_s(Unlike(7), on_seven);
    EXPECT_EQ(least_s(first_alike, bounds), exact);
    EXPECT_LE(least_s(Unlike(16), bounds), exact);
    sum_of_shares += least_s(Unlike(16), bounds) / exact;
  }
  EXPECT_LT(sum_of_shares, 49.5);
}

TEST(SimulatedBoundTest, IsNeverMoreThanTheLimit) {
  const BoundSlice slow = MakeBoundSlice({0, 1}, 0, {4.0}, 1, 2);
  ASSERT_OK_AND_ASSIGN(const double bound_s,
                       LeastIterationSeconds(1, {0}, {slow}, 3, NeverStop));
  EXPECT_EQ(bound_s, 3);
}

TEST(SimulatedBoundTest, StopsWhenTold) {
  const BoundSlice slice = MakeBoundSlice({0, 1}, 0, {4.0}, 1, 2);
  EXPECT_THAT(
      LeastIterationSeconds(1, {0}, {slice}, kNoLimit, [] { return true; }),
      testing::StatusIs(absl::StatusCode::kCancelled, "planning stopped"));
}

}  // namespace
}  // namespace tangram
