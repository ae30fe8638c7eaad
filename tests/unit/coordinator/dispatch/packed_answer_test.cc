#include "coordinator/dispatch/packed_answer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

// Returns small numbers, large ones and negative ones.
int AnyInt(std::mt19937& rng) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const int edges[] = {0, 1, -1, 63, 64, 127, 128, kMost, -kMost - 1};
  return rng() % 2 == 0 ? static_cast<int>(rng() % 200) : edges[rng() % 9];
}

double AnyDouble(std::mt19937& rng) {
  return std::ldexp(static_cast<double>(rng()),
                    static_cast<int>(rng() % 80) - 60);
}

StageParallelism AnyParallelism(std::mt19937& rng) {
  return {.tp_degree = AnyInt(rng),
          .cp_degree = AnyInt(rng),
          .dp_degree = AnyInt(rng),
          .ep_degree = AnyInt(rng),
          .fsep = rng() % 2 == 0,
          .zero_stage = AnyInt(rng),
          .zero_degree = AnyInt(rng),
          .sequence_parallel = rng() % 2 == 0,
          .tp_y_degree = AnyInt(rng)};
}

SliceStage AnyStage(std::mt19937& rng) {
  SliceStage stage{.time_s = AnyDouble(rng),
                   .backward_s = AnyDouble(rng),
                   .sync_s = AnyDouble(rng)};
  stage.plan.begin = {AnyInt(rng), AnyInt(rng)};
  stage.plan.end = {AnyInt(rng), AnyInt(rng)};
  stage.plan.parallelism = AnyParallelism(rng);
  for (auto i = rng() % 4; i > 0; --i) {
    stage.plan.recompute.push_back(
        {AnyInt(rng), static_cast<OpMask>(rng()) | kDropOutputs});
  }
  if (rng() % 2 == 0) {
    stage.plan.offload = {AnyDouble(rng), AnyDouble(rng), AnyDouble(rng),
                          AnyDouble(rng)};
  }
  return stage;
}

// Returns a stage that differs from the one before it in some of its parts.
SliceStage LikeTheLast(const SliceStage& last, std::mt19937& rng) {
  const SliceStage other = AnyStage(rng);
  SliceStage stage = last;
  stage.plan.begin = last.plan.end;
  stage.plan.end = other.plan.end;
  const auto differs = [&rng] { return rng() % 4 == 0; };
  if (differs()) stage.plan.begin = other.plan.begin;
  if (differs()) stage.plan.parallelism = other.plan.parallelism;
  if (differs()) stage.plan.recompute = other.plan.recompute;
  if (differs()) stage.plan.offload = other.plan.offload;
  if (differs()) stage.time_s = other.time_s;
  if (differs()) stage.backward_s = other.backward_s;
  if (differs()) stage.sync_s = other.sync_s;
  return stage;
}

SlicePlanSet AnySet(std::mt19937& rng) {
  SlicePlanSet set{.covers_trailing_stages = AnyInt(rng),
                   .search_steps = int64_t{AnyInt(rng)} << 32,
                   .truncated = rng() % 2 == 0};
  for (auto i = rng() % 5; i > 0; --i) {
    SlicePlan& plan = set.plans.emplace_back();
    for (auto s = rng() % 5; s > 0; --s) {
      plan.stages.push_back(plan.stages.empty() || rng() % 2 == 0
                                ? AnyStage(rng)
                                : LikeTheLast(plan.stages.back(), rng));
    }
    plan.max_trailing_stages = AnyInt(rng);
    plan.made_by = std::vector<std::string>{"", "aceso", "mist"}[rng() % 3];
    if (rng() % 4 == 0) set.plans.push_back(SlicePlan(plan));
  }
  if (rng() % 2 == 0) {
    set.infeasible = {.reason = std::string(rng() % 200, 'r'),
                      .bytes_short = AnyDouble(rng)};
  }
  return set;
}

TEST(PackedAnswerTest, ReturnsEverySlicePlanAsItWas) {
  std::mt19937 rng(5);
  for (int i = 0; i < 1000; ++i) {
    const Answer answer = AnySet(rng);
    ASSERT_EQ(PackedAnswer(answer).Unpack(), answer) << i;
  }
}

TEST(PackedAnswerTest, ReturnsOtherAnswersAsTheyWere) {
  const ModelSlice slice = MakeSlice({2, 4}, std::vector<LayerSpec>(2));
  for (const Answer& answer :
       {Answer(slice), Answer(std::vector<ModelSlice>{slice, slice}),
        Answer(
            PerformanceProfile{.min_gpu_seconds = 3, .min_total_bytes = 4})}) {
    EXPECT_EQ(PackedAnswer(answer).Unpack(), answer);
  }
}

// In the largest clusters, an answer has 35 plans of some four stages.
TEST(PackedAnswerTest, TakesAFractionOfTheAnswer) {
  SliceStage stage{.time_s = 0.1, .backward_s = 0.06, .sync_s = 0.01};
  stage.plan.end = {.layer = 8};
  stage.plan.recompute = {{.num_layers = 8}};
  const SlicePlanSet set{.plans = std::vector<SlicePlan>(
                             35, {.stages = {4, stage}, .made_by = "aceso"})};
  int64_t bytes = 0;
  for (const SlicePlan& plan : set.plans) {
    bytes += static_cast<int64_t>(
        sizeof(plan) +
        plan.stages.size() * (sizeof(SliceStage) + sizeof(RecomputeRun)));
  }
  EXPECT_LT(PackedAnswer(set).num_bytes(), bytes / 12);
}

}  // namespace
}  // namespace tangram
