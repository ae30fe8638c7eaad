#include "common/sim/share_batch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

double EndOfShares(const std::vector<PipelinePace>& pipelines,
                   const std::vector<int64_t>& shares) {
  double end_s = 0;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    if (shares[r] == 0) continue;
    end_s =
        std::max(end_s, pipelines[r].fill_s + static_cast<double>(shares[r]) *
                                                  pipelines[r].microbatch_s);
  }
  return end_s;
}

// Returns the earliest end over all possible shares.
double BestEnd(const std::vector<PipelinePace>& pipelines, int64_t left,
               std::vector<int64_t>& shares) {
  if (shares.size() + 1 == pipelines.size()) {
    shares.push_back(left);
    const double end_s = EndOfShares(pipelines, shares);
    shares.pop_back();
    return end_s;
  }
  double best_s = HUGE_VAL;
  for (int64_t share = 0; share <= left; ++share) {
    shares.push_back(share);
    best_s = std::min(best_s, BestEnd(pipelines, left - share, shares));
    shares.pop_back();
  }
  return best_s;
}

TEST(ShareMicrobatchesPropertyTest, NoOtherSharesEndEarlier) {
  std::mt19937 generator(3);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    std::vector<PipelinePace> pipelines(1 + generator() % 4);
    double slowest_s = 0;
    for (PipelinePace& pace : pipelines) {
      pace = {.fill_s = static_cast<double>(generator() % 40) / 4,
              .microbatch_s = static_cast<double>(1 + generator() % 16) / 4};
      slowest_s = std::max(slowest_s, pace.microbatch_s);
    }
    const int64_t b = 1 + generator() % 12;
    const std::vector<int64_t> shares = ShareMicrobatches(pipelines, b);
    ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), b);
    std::vector<int64_t> tried;
    const double best_s = BestEnd(pipelines, b, tried);
    const double end_s = EndOfShares(pipelines, shares);
    ASSERT_EQ(end_s, best_s);
    // L ≤ T* ≤ L + max τ.
    const double level_s = WaterLevelSeconds(pipelines, b);
    ASSERT_LE(level_s, end_s + 1e-9);
    ASSERT_LE(end_s, level_s + slowest_s + 1e-9);
  }
}

TEST(ShareMicrobatchesTest, APipelineThatOnlyFillsGetsNothing) {
  EXPECT_THAT(ShareMicrobatches({{.fill_s = 1, .microbatch_s = 1},
                                 {.fill_s = 100, .microbatch_s = 1}},
                                10),
              ElementsAre(10, 0));
}

TEST(ShareMicrobatchesTest, SharesAreInProportionToSpeed) {
  EXPECT_THAT(ShareMicrobatches({{.microbatch_s = 1}, {.microbatch_s = 3}},
                                int64_t{1} << 40),
              ElementsAre(int64_t{3} << 38, int64_t{1} << 38));
}

TEST(ShareMicrobatchesTest, ZorsesExampleComesOutAndItsSharesCanBeBetter) {
  // Zorse (2507.10392), example/training_config.json: Llama tiny, 22 layers, 64
  // microbatches of 2 on L4, P40, A6000, L4. Milliseconds per layer from its
  // data/model_latencies.json (MIT).
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

// Returns the earliest end of pipelines from `first` on over all shares of
// exactly `left` samples; infinite if none add up.
double BestEnd(const std::vector<SamplePace>& pipelines, size_t first,
               int64_t left) {
  if (first == pipelines.size()) return left == 0 ? 0 : HUGE_VAL;
  const SamplePace& pipeline = pipelines[first];
  double best_s = HUGE_VAL;
  for (int64_t n = 0; n * pipeline.microbatch_size <= left; ++n) {
    const double own_s = n == 0 ? 0 : EndSeconds(pipeline.pace, n);
    const double rest_s =
        BestEnd(pipelines, first + 1, left - n * pipeline.microbatch_size);
    best_s = std::min(best_s, std::max(own_s, rest_s));
  }
  return best_s;
}

TEST(ShareSamplesPropertyTest, NoOtherSharesEndEarlier) {
  std::mt19937 generator(5);
  int none = 0;
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    std::vector<SamplePace> pipelines(1 + generator() % 3);
    for (SamplePace& pipeline : pipelines) {
      pipeline = {.pace = {.fill_s = static_cast<double>(generator() % 40) / 4,
                           .microbatch_s =
                               static_cast<double>(1 + generator() % 16) / 4},
                  .microbatch_size = 1 + static_cast<int>(generator() % 6)};
    }
    const int64_t samples = 1 + generator() % 24;
    const double best_s = BestEnd(pipelines, 0, samples);
    const auto shares = ShareSamples(pipelines, samples);
    ASSERT_EQ(shares.has_value(), best_s < HUGE_VAL);
    if (!shares.has_value()) {
      ++none;
      continue;
    }
    int64_t sum = 0;
    double end_s = 0;
    for (size_t r = 0; r < pipelines.size(); ++r) {
      sum += (*shares)[r] * pipelines[r].microbatch_size;
      if ((*shares)[r] == 0) continue;
      end_s = std::max(end_s, EndSeconds(pipelines[r].pace, (*shares)[r]));
    }
    ASSERT_EQ(sum, samples);
    ASSERT_NEAR(end_s, best_s, 1e-9);
  }
  EXPECT_GT(none, 100);
}

TEST(ShareSamplesTest, APipelineOfInfiniteFillTakesNothing) {
  const auto shares = ShareSamples(
      {{.pace = {.fill_s = HUGE_VAL, .microbatch_s = 1}, .microbatch_size = 2},
       {.pace = {.microbatch_s = 1}, .microbatch_size = 4}},
      8);
  ASSERT_TRUE(shares.has_value());
  EXPECT_THAT(*shares, ElementsAre(0, 2));
}

TEST(ShareSamplesTest, SamplesThatNoMicrobatchesAddUpToHaveNoShares) {
  EXPECT_FALSE(
      ShareSamples({{.pace = {.microbatch_s = 1}, .microbatch_size = 4},
                    {.pace = {.microbatch_s = 1}, .microbatch_size = 6}},
                   10 + 1)
          .has_value());
}

// Four pipelines of 60 layers on 32 A800, as in examples/malleus of Hetu. In
// the first one, a GPU of stage 0 takes 2.34 times as long, and stage 1 has one
// GPU instead of two. Malleus leaves the fill out.
TEST(ShareMicrobatchesTest, MalleusSharesFollowFromItsLayers) {
  const auto slowest_s = [](const std::vector<double>& layer_s,
                            const std::vector<int>& layers) {
    double slowest = 0;
    for (size_t s = 0; s < layers.size(); ++s) {
      slowest = std::max(slowest, layer_s[s] * layers[s]);
    }
    return slowest;
  };
  const PipelinePace healthy{.microbatch_s =
                                 slowest_s({1, 1, 1, 1}, {15, 15, 15, 15})};
  const PipelinePace straggling{
      .microbatch_s = slowest_s({2.34, 2, 1, 1}, {11, 8, 19, 22})};
  EXPECT_THAT(ShareMicrobatches({straggling, healthy, healthy, healthy}, 64),
              ElementsAre(10, 18, 18, 18));
}

// Llama with 22 layers, batch 128 in microbatches of 2, on two L4, an A6000 and
// a P40: milliseconds of a layer's passes from Zorse's
// data/model_latencies.json. Its own shares, 18, 1, 28 and 17, are rounded.
TEST(ShareMicrobatchesTest, SharesEndNotLaterThanThoseOfZorse) {
  const PipelinePace l4{.microbatch_s = 2.4145606666666675 + 7.747138199999993};
  const PipelinePace p40{.microbatch_s =
                             25.906081800000003 + 67.41926666666649};
  const PipelinePace a6000{.microbatch_s =
                               1.7747750666666666 + 4.790269000000006};
  const std::vector<PipelinePace> gpus = {l4, p40, a6000, l4};
  const std::vector<int64_t> shares = ShareMicrobatches(gpus, 64);
  EXPECT_THAT(shares, ElementsAre(18, 1, 27, 18));
  EXPECT_NEAR(EndOfShares(gpus, {18, 1, 28, 17}), 183.8, 0.05);
  EXPECT_NEAR(EndOfShares(gpus, shares), 182.9, 0.05);
}

}  // namespace
}  // namespace tangram
