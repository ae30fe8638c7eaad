#include "cli/validation/recipes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::NodeGpus;
using testing::StageOn;

// A recipe applied to an embedding, two layers with latent attention and
// experts, and a head.
struct Applied {
  explicit Applied(MeasuredRun run) {
    ModelSpec model = testing::TestMoeModel(2);
    for (int l : {1, 2}) model.layers[l].kv_lora_rank = 512;
    ApplyRecipe(run, model, training, plan);
  }
  const StagePlan& stage() const { return plan.stages[0].plan; }

  TrainingOptions training = testing::TestTraining();
  PipelinePlan plan = {.stages = {StageOn(0, 4, {}, NodeGpus(0, 1))}};
};

MeasuredRun BridgeRun() {
  return {.framework = "Megatron Bridge 26.02 NeMo Container",
          .gpu = "GB200",
          .model = "DeepSeekV3",
          .precision = "mxfp8"};
}

TEST(ApplyRecipeTest, LatentsAreProjectedAgainAndMomentsAreShort) {
  const Applied applied(BridgeRun());
  EXPECT_TRUE(applied.training.bf16_moments);
  // Operator 1 is the projection.
  EXPECT_THAT(applied.stage().recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{2, 2 | kDropOutputs},
                          RecomputeRun{1, 0}));
  EXPECT_TRUE(applied.stage().offload.none());
}

TEST(ApplyRecipeTest, NormsAndExpertActivationsAreRecomputed) {
  MeasuredRun run = BridgeRun();
  run.model = "GPT OSS 120B";
  EXPECT_THAT(Applied(run).stage().recompute, ElementsAre(RecomputeRun{4, 0}));
  run.precision = "bf16";
  // Operators 0 and 5 are norms, 9 is the activation.
  constexpr OpMask kMask = 1 | 1 << 5 | 1 << 9 | kDropOutputs;
  EXPECT_THAT(Applied(run).stage().recompute,
              ElementsAre(RecomputeRun{1, 0}, RecomputeRun{2, kMask},
                          RecomputeRun{1, 0}));
}

TEST(ApplyRecipeTest, FsdpRunsOffloadActivations) {
  MeasuredRun run = BridgeRun();
  run.model = "LLAMA3_70B";
  EXPECT_TRUE(Applied(run).stage().offload.none());
  run.zero = "FSDP group 64";
  EXPECT_EQ(Applied(run).stage().offload, HostOffload{.activations = 0.5});
  run.offload = "none";
  EXPECT_TRUE(Applied(run).stage().offload.none());
}

TEST(ApplyRecipeTest, WhatTheRowSaysComesFirst) {
  MeasuredRun run = BridgeRun();
  run.recompute = "none";
  EXPECT_THAT(Applied(run).stage().recompute, ElementsAre(RecomputeRun{4, 0}));
  run = BridgeRun();
  run.framework = "Megatron-LM";
  EXPECT_FALSE(Applied(run).training.bf16_moments);
}

}  // namespace
}  // namespace tangram
