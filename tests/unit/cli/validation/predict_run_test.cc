#include "cli/validation/predict_run.h"

#include <algorithm>
#include <string>

#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/measured_runs.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::GptRun;
using testing::StatusIs;

// GptRun on a runtime that takes 2 GB before the first tensor and fragments a
// quarter.
ExpressedRun ReservingRun() {
  ExpressedRun expressed = *ExpressRun(GptRun());
  for (Node& node : expressed.cluster.nodes) {
    node.device.efficiency.reserved_bytes = 2e9;
    node.device.efficiency.fragmentation = 0.25;
  }
  return expressed;
}

Evaluation EvaluationOf(const ExpressedRun& run) {
  return *EvaluatePlan(run.model, run.cluster, run.training, run.plan);
}

double MemoryAs(const std::string& kind) {
  MeasuredRun run = GptRun();
  run.memory_kind = kind;
  return PredictRun(run, ReservingRun())->memory_bytes;
}

TEST(PredictRunTest, TimeIsTheEvaluators) {
  const ExpressedRun expressed = ReservingRun();
  ASSERT_OK_AND_ASSIGN(const RunPrediction prediction,
                       PredictRun(GptRun(), expressed));

  EXPECT_GT(prediction.iteration_s, 0);
  EXPECT_EQ(prediction.iteration_s, EvaluationOf(expressed).iteration_time_s);
  EXPECT_EQ(prediction.measured_fraction, 0);
  EXPECT_TRUE(prediction.fits);
}

TEST(PredictRunTest, AddsWhatTheHostTakes) {
  ExpressedRun expressed = ReservingRun();
  const double without_s = PredictRun(GptRun(), expressed)->iteration_s;
  expressed.overhead_s = 0.5;
  EXPECT_DOUBLE_EQ(PredictRun(GptRun(), expressed)->iteration_s,
                   without_s + 0.5);
}

TEST(PredictRunTest, AddsWhatTheFrameworkKeepsOnEachStage) {
  ExpressedRun expressed = ReservingRun();
  const Evaluation evaluation = EvaluationOf(expressed);
  expressed.overhead_bytes = {1e9, 50e9};
  EXPECT_DOUBLE_EQ(PredictRun(GptRun(), expressed)->memory_bytes,
                   evaluation.stages[1].peak_bytes + 50e9);
}

// Activations are gone before the optimizer steps.
TEST(PredictRunTest, AStepNeedsRoomBesideTheStateAlone) {
  ExpressedRun expressed = ReservingRun();
  const Evaluation evaluation = EvaluationOf(expressed);
  const StageEvaluation& last = evaluation.stages[1];

  expressed.step_bytes = {0, 1};
  EXPECT_DOUBLE_EQ(PredictRun(GptRun(), expressed)->memory_bytes,
                   std::max(evaluation.stages[0].peak_bytes, last.peak_bytes));
  expressed.step_bytes = {0, 90e9};
  const RunPrediction full = *PredictRun(GptRun(), expressed);
  EXPECT_DOUBLE_EQ(full.memory_bytes, last.static_bytes + 90e9);
  EXPECT_DOUBLE_EQ(full.filled, full.memory_bytes / last.capacity_bytes);
}

TEST(PredictRunTest, MemoryIsThatOfTheFullestGpu) {
  const Evaluation evaluation = EvaluationOf(ReservingRun());
  ASSERT_NE(evaluation.stages[0].peak_bytes, evaluation.stages[1].peak_bytes);

  EXPECT_DOUBLE_EQ(MemoryAs("max over GPUs"),
                   std::max(evaluation.stages[0].peak_bytes,
                            evaluation.stages[1].peak_bytes));
}

TEST(PredictRunTest, WhatTheAllocatorReservedIsItsCacheWithoutTheRuntime) {
  const double in_allocator = MemoryAs("") - 2e9;
  EXPECT_GT(MemoryAs("max reserved (torch)") / in_allocator, 1);
  EXPECT_LT(MemoryAs("max reserved (torch)") / in_allocator, 1.2);
}

TEST(PredictRunTest, AcesoKeepsWhatItSends) {
  MeasuredRun run = GptRun();
  run.framework = "Aceso";
  ExpressedRun expressed = ReservingRun();
  expressed.memory_stages = {0};
  const double without_bytes = PredictRun(GptRun(), expressed)->memory_bytes;
  // Two microbatches in flight of 2 samples, 1024 tokens, width 1024, 2 bytes.
  EXPECT_DOUBLE_EQ(PredictRun(run, expressed)->memory_bytes - without_bytes,
                   2 * 2.0 * 1024 * 1024 * 2);
}

TEST(PredictRunTest, DeepSpeedsPipelinesKeepCopiesOfWhatTheyReceive) {
  MeasuredRun run = GptRun();
  run.framework = "Megatron-DeepSpeed";
  ExpressedRun expressed = ReservingRun();
  expressed.memory_stages = {1};
  const double without_bytes = PredictRun(GptRun(), expressed)->memory_bytes;
  // A buffer and a copy of 2 samples, 1024 tokens, width 1024, 2 bytes.
  EXPECT_DOUBLE_EQ(PredictRun(run, expressed)->memory_bytes - without_bytes,
                   2 * 2.0 * 1024 * 1024 * 2);
}

TEST(PredictRunTest, MemoryIsThatOfTheStagesThatWereMeasured) {
  ExpressedRun expressed = ReservingRun();
  expressed.memory_stages = {1};
  ASSERT_OK_AND_ASSIGN(const RunPrediction prediction,
                       PredictRun(GptRun(), expressed));

  const Evaluation evaluation = EvaluationOf(expressed);
  EXPECT_EQ(prediction.memory_bytes, evaluation.stages[1].peak_bytes);
  EXPECT_NE(prediction.memory_bytes, evaluation.stages[0].peak_bytes);
}

TEST(PredictRunTest, WhatWasAllocatedIsWithoutFragmentationEither) {
  EXPECT_DOUBLE_EQ(MemoryAs("torch max Allocated"),
                   (MemoryAs("") - 2e9) / 1.25);
}

TEST(PredictRunTest, TheDriverCountsTheAllocatorsCacheToo) {
  for (const char* kind : {"nvidia-smi GB", "observed GPU memory (GB)"}) {
    EXPECT_GT(MemoryAs(kind) / MemoryAs(""), 1) << kind;
    EXPECT_LT(MemoryAs(kind) / MemoryAs(""), 1.2) << kind;
  }
}

TEST(PredictRunTest, ARunThatExceedsItsGpusDoesNotFit) {
  ExpressedRun expressed = ReservingRun();
  expressed.cluster.nodes[0].device.memory_bytes = 2.1e9;
  ASSERT_OK_AND_ASSIGN(const RunPrediction prediction,
                       PredictRun(GptRun(), expressed));

  EXPECT_FALSE(prediction.fits);
  EXPECT_GT(prediction.iteration_s, 0);
}

TEST(PredictRunTest, ThePlanMustBeOneThatCanRun) {
  ExpressedRun expressed = ReservingRun();
  expressed.plan.pipeline_microbatch_size = 5;
  EXPECT_THAT(PredictRun(GptRun(), expressed),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

}  // namespace
}  // namespace tangram
