#include "common/sim/play_routed_pipeline.h"

#include <algorithm>
#include <random>
#include <vector>

#include "common/domain/mixed_stage.h"
#include "common/sim/play_pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

// Sets transfers of no time between all devices of neighbouring stages.
void ConnectAll(std::vector<RoutedStage>& stages) {
  for (size_t s = 0; s + 1 < stages.size(); ++s) {
    for (size_t a = 0; a < stages[s].devices.size(); ++a) {
      for (size_t b = 0; b < stages[s + 1].devices.size(); ++b) {
        stages[s].sends[{static_cast<int>(a), static_cast<int>(b)}];
      }
    }
  }
}

TEST(PlayRoutedPipelinePropertyTest, StagesOfOneDevicePlayAsInPlayPipeline) {
  std::mt19937 generator(3);
  const auto integer = [&](int low, int high) {
    return low + static_cast<int>(generator() % (high - low + 1));
  };
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    const int p = integer(1, 5);
    PipelineShape shape = {.schedule = integer(0, 1) == 0
                                           ? PipelineSchedule::kGpipe
                                           : PipelineSchedule::kOneFOneB,
                           .num_devices = p,
                           .num_microbatches = integer(1, 12)};
    std::vector<StageTimes> times;
    std::vector<RoutedStage> stages;
    for (int s = 0; s < p; ++s) {
      times.push_back({.forward_s = 1.0 * integer(1, 9),
                       .backward_s = 1.0 * integer(1, 9),
                       .send_forward_s = s + 1 < p ? 1.0 * integer(0, 5) : 0,
                       .send_backward_s = s + 1 < p ? 1.0 * integer(0, 5) : 0,
                       .sync_s = 1.0 * integer(0, 5),
                       .optimizer_s = 1.0 * integer(0, 5)});
      const StageTimes& stage = times.back();
      stages.push_back({.devices = {{.forward_s = stage.forward_s,
                                     .backward_s = stage.backward_s,
                                     .sync_s = stage.sync_s,
                                     .optimizer_s = stage.optimizer_s}}});
      if (s + 1 == p) continue;
      stages.back().sends[{0, 0}] = {.forward_s = stage.send_forward_s,
                                     .backward_s = stage.send_backward_s};
    }
    if (shape.schedule == PipelineSchedule::kOneFOneB && integer(0, 1) == 0) {
      shape.warm_up_passes.assign(p, integer(1, 3));
      for (int s = p - 2; s >= 0; --s) {
        shape.warm_up_passes[s] = shape.warm_up_passes[s + 1] + integer(0, 3);
      }
    }
    const PipelineRun expected = PlayPipeline(shape, times);
    const RoutedRun run = PlayRoutedPipeline(shape, stages);
    ASSERT_EQ(run.iteration_time_s, expected.iteration_time_s);
    for (int s = 0; s < p; ++s) {
      ASSERT_EQ(run.passes_end_s[s][0], expected.passes_end_s[s]);
    }
  }
}

// A pipeline whose stages have one to three devices with shares of 12
// microbatches in proportion to their speed.
struct BalancedRoutes {
  std::vector<std::vector<int>> shares;
  std::vector<double> periods_s;  // 1 / Σ 1/t of the forward passes.

  double slowest_s() const {
    return *std::max_element(periods_s.begin(), periods_s.end());
  }

  // Plays GPipe with 12 · `cycles` microbatches. Backward passes take twice as
  // long.
  double Seconds(int cycles) const {
    std::vector<RoutedStage> stages;
    for (size_t s = 0; s < shares.size(); ++s) {
      RoutedStage& stage = stages.emplace_back();
      std::vector<int> all;
      for (const int share : shares[s]) {
        const double t_s = periods_s[s] * 12 / share;
        stage.devices.push_back({.forward_s = t_s, .backward_s = 2 * t_s});
        all.push_back(share * cycles);
      }
      stage.route = RouteMicrobatches(all);
    }
    ConnectAll(stages);
    return PlayRoutedPipeline({.schedule = PipelineSchedule::kGpipe,
                               .num_devices = static_cast<int>(stages.size()),
                               .num_microbatches = 12 * cycles},
                              stages)
        .iteration_time_s;
  }
};

TEST(PlayRoutedPipelinePropertyTest, ThePeriodIsThatOfTheSlowestStage) {
  std::mt19937 generator(5);
  const std::vector<std::vector<int>> kShares = {{12},   {6, 6},    {8, 4},
                                                 {9, 3}, {6, 4, 2}, {4, 4, 4}};
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    BalancedRoutes routes;
    const int p = 1 + static_cast<int>(generator() % 3);
    for (int s = 0; s < p; ++s) {
      routes.shares.push_back(kShares[generator() % kShares.size()]);
      routes.periods_s.push_back(1.0 + static_cast<double>(generator() % 8));
    }
    // A microbatch more takes one forward and one backward period of the
    // slowest stage.
    const double more_s = routes.Seconds(20) - routes.Seconds(10);
    EXPECT_NEAR(more_s / (120 * 3 * routes.slowest_s()), 1, 1e-9);
    EXPECT_GE(routes.Seconds(10), 120 * 3 * routes.slowest_s() * (1 - 1e-12));
  }
}

TEST(HeldByDevicesTest, CountsTheMicrobatchesOfEachDevice) {
  RoutedStage stage = {.devices = {{}, {}}, .route = RouteMicrobatches({6, 2})};
  const PipelineShape shape = {.num_devices = 4, .num_microbatches = 8};
  // At most ⌈w · share / B⌉ of the w in flight.
  EXPECT_THAT(HeldByDevices(shape, 0, stage), ElementsAre(3, 1));
  EXPECT_THAT(HeldByDevices(shape, 3, stage), ElementsAre(1, 1));
  EXPECT_THAT(HeldByDevices({.schedule = PipelineSchedule::kGpipe,
                             .num_devices = 4,
                             .num_microbatches = 8},
                            0, stage),
              ElementsAre(6, 2));
}

}  // namespace
}  // namespace tangram
