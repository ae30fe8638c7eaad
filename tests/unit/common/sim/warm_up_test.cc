#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/sim/held_microbatches.h"
#include "common/sim/play_pipeline.h"
#include "common/sim/share_batch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

// max over s ≤ u of (Σ (f + b) + 2 Σ c) / (w_s − w_u + 1).
double PeriodFormula(const std::vector<StageTimes>& stages,
                     const std::vector<int>& warm_up) {
  double period_s = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    double ring_s = 0;
    for (size_t u = s; u < stages.size(); ++u) {
      ring_s += stages[u].forward_s + stages[u].backward_s;
      period_s = std::max(period_s, ring_s / (warm_up[s] - warm_up[u] + 1));
      ring_s += stages[u].send_forward_s + stages[u].send_backward_s;
    }
  }
  return period_s;
}

double SecondsOf(const std::vector<StageTimes>& stages,
                 const std::vector<int>& warm_up, int num_microbatches) {
  return PlayPipeline({.num_devices = static_cast<int>(stages.size()),
                       .num_microbatches = num_microbatches,
                       .warm_up_passes = warm_up},
                      stages)
      .iteration_time_s;
}

TEST(WarmUpPropertyTest, ThePeriodIsTheLargestCycleMean) {
  std::mt19937 generator(8);
  const auto real = [&](double low, double high) {
    return low + (high - low) * (generator() % 10000) / 10000.0;
  };
  for (int i = 0; i < 400; ++i) {
    const int p = 1 + static_cast<int>(generator() % 6);
    std::vector<StageTimes> stages(p);
    std::vector<int> warm_up(p, 1);
    for (int s = p - 1; s >= 0; --s) {
      stages[s].forward_s = real(0.5, 1.5);
      stages[s].backward_s = 2 * stages[s].forward_s;
      if (s + 1 == p) continue;
      stages[s].send_forward_s = stages[s].send_backward_s =
          real(0, 3) * stages[s].forward_s;
      warm_up[s] = warm_up[s + 1] + 1 + static_cast<int>(generator() % 3);
    }
    SCOPED_TRACE(absl::StrFormat("%d: p %d", i, p));
    constexpr int kMany = 1 << 20;
    const double period_s = (SecondsOf(stages, warm_up, 2 * kMany) -
                             SecondsOf(stages, warm_up, kMany)) /
                            kMany;
    ASSERT_NEAR(period_s / PeriodFormula(stages, warm_up), 1, 1e-6);
  }
}

TEST(WarmUpTest, FurtherPassesHideATransferIffTheyCoverItBothWays) {
  // Two stages of 3 s: e more passes hide the transfers iff e ≥ 2 c / 3.
  std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 2});
  const auto period_s = [&](double transfer_s, int more) {
    stages[0].send_forward_s = stages[0].send_backward_s = transfer_s;
    const std::vector<int> warm_up = {2 + more, 1};
    // Whole periods, of two and of three microbatches.
    return (SecondsOf(stages, warm_up, 2400) -
            SecondsOf(stages, warm_up, 1200)) /
           1200;
  };
  EXPECT_NEAR(period_s(0, 0), 3, 1e-9);
  EXPECT_NEAR(period_s(1.5, 0), 3 + 1.5, 1e-9);
  EXPECT_NEAR(period_s(1.5, 1), 3, 1e-9);
  EXPECT_NEAR(period_s(2.1, 1), 3.4, 1e-9);
  EXPECT_NEAR(period_s(2.1, 2), 3, 1e-9);
}

TEST(WarmUpTest, AStageHoldsTheMicrobatchesOfItsWarmUp) {
  const PipelineShape shape = {.num_devices = 3,
                               .num_microbatches = 1'000'000,
                               .warm_up_passes = {40, 3, 1}};
  EXPECT_THAT(MicrobatchesHeldAtPeak(shape, {1, 1, 1}), ElementsAre(40, 3, 1));
  PipelineShape few = shape;
  few.num_microbatches = 7;
  EXPECT_THAT(MicrobatchesHeldAtPeak(few, {1, 1, 1}), ElementsAre(7, 3, 1));
}

TEST(ShareMicrobatchesTest, ZorsesExampleComesOutAndItsSharesCanBeBetter) {
  // Zorse (2507.10392), example/training_config.json: Llama tiny, 22 layers,
  // 64 microbatches of 2 on L4, P40, A6000, L4. Milliseconds of a layer from
  // its data/model_latencies.json (MIT).
  const std::vector<double> forward = {2.4145606666666675, 25.906081800000003,
                                       1.7747750666666666, 2.4145606666666675};
  const std::vector<double> backward = {7.747138199999993, 67.41926666666649,
                                        4.790269000000006, 7.747138199999993};
  const std::vector<int64_t> published = {18, 1, 28, 17};
  std::vector<PipelinePace> gpus;
  double first = 0;
  double passes = 0;
  for (size_t i = 0; i < 4; ++i) {
    const double share = static_cast<double>(published[i]);
    gpus.push_back({.microbatch_s = forward[i] + backward[i]});
    first = std::max(first, (share - 1) * forward[i]);
    passes = std::max(passes, share * (forward[i] + backward[i]));
  }
  // Its formula: the slowest GPU's forward pass, the rest of the forward
  // passes, all passes again, the slowest GPU's last microbatch.
  EXPECT_NEAR(22 * (forward[1] + first + passes + forward[1] + backward[1]),
              7721.375000533334, 1e-9);
  EXPECT_NEAR(passes, 183.82, 0.01);
  // One microbatch less on the A6000 and one more on an L4 ends 0.9 ms earlier.
  const std::vector<int64_t> shares = ShareMicrobatches(gpus, 64);
  EXPECT_THAT(shares, ElementsAre(18, 1, 27, 18));
  double end = 0;
  for (size_t i = 0; i < 4; ++i) {
    end = std::max(end, static_cast<double>(shares[i]) * gpus[i].microbatch_s);
  }
  EXPECT_NEAR(end, 182.91, 0.01);
}

}  // namespace
}  // namespace tangram
