#include "frameworks/model_details.h"

#include <string>

#include "frameworks/export_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::ContentOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeGpus;
using ::testing::Not;
using testing::StageOn;

// Llama 3.1 8B in fp16 on 8 GPUs, tp 2, dp 2.
PlannedTraining Llama31() {
  PlannedTraining planned = testing::TwoIslands();
  planned.model = *BuiltinModel("llama3-8b");
  planned.model.details = {.rope_theta = 500000,
                           .rope_scaling = {.type = "llama3",
                                            .factor = 8,
                                            .low_freq_factor = 1,
                                            .high_freq_factor = 4,
                                            .original_positions = 8192},
                           .norm_epsilon = 1e-5,
                           .attention_dropout = 0,
                           .dtype = "float16"};
  const StageParallelism p = {.tp_degree = 2, .dp_degree = 2};
  planned.plan.stages = {StageOn(0, 13, p, NodeGpus(0, 4)),
                         StageOn(13, 34, p, NodeGpus(2, 4))};
  return planned;
}

TEST(ModelDetailsTest, NumbersAreReadByCommandLinesAndYaml) {
  EXPECT_EQ(DetailText(1000000), "1000000");
  EXPECT_EQ(DetailText(1e-5), "1.0e-05");
  EXPECT_EQ(DetailText(0.25), "0.25");
  EXPECT_EQ(DetailText(0), "0.0");
}

TEST(ModelDetailsTest, ReachMegatronsCommandLine) {
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("megatron", Llama31()));
  EXPECT_THAT(exported.framework_losses, IsEmpty());
  const std::string arguments = ContentOf(exported, "megatron.args");
  EXPECT_THAT(arguments, AllOf(HasSubstr("--rotary-base 500000\n"),
                               HasSubstr("--use-rope-scaling\n"),
                               HasSubstr("--rope-scaling-factor 8\n"),
                               HasSubstr("--norm-epsilon 1.0e-05\n"),
                               HasSubstr("--attention-dropout 0.0\n"),
                               HasSubstr("--hidden-dropout 0.1\n")));
}

TEST(ModelDetailsTest, MixedPrecisionLosesNothingOfFp32Weights) {
  PlannedTraining planned = Llama31();
  planned.model.details.dtype = "float32";
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("megatron", planned));
  EXPECT_THAT(exported.framework_losses, IsEmpty());
}

// Galvatron's schema has no scaling of Llama 3.
TEST(ModelDetailsTest, WhatAFrameworkDoesNotTakeIsALoss) {
  PlannedTraining planned = Llama31();
  planned.model.details.dtype = "bfloat16";
  planned.model.details.logit_softcap = 30;
  planned.model.details.unplanned = {"attention sinks"};
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("galvatron", planned));
  EXPECT_THAT(
      exported.framework_losses,
      ElementsAre("model.rope_scaling: llama3 by 8; becomes none",
                  "model.dtype: bfloat16; becomes fp16, the plan's --precision",
                  "model.logit_softcap: 30; becomes none",
                  "model.unplanned: attention sinks; becomes none"));
  const std::string yaml = ContentOf(exported, "runtime.yaml");
  EXPECT_THAT(yaml, AllOf(HasSubstr("rotary_base: 500000\n"),
                          HasSubstr(" norm_epsilon: 1.0e-05\n"),
                          HasSubstr("layernorm_epsilon: 1.0e-05\n"),
                          Not(HasSubstr("rope_scaling"))));
}

TEST(ModelDetailsTest, OtherScalingIsALossEverywhere) {
  PlannedTraining planned = Llama31();
  planned.model.details.rope_scaling.original_positions = 4096;
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("megatron", planned));
  EXPECT_THAT(exported.framework_losses,
              Contains("model.rope_scaling: llama3 by 8; becomes none"));
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              Not(HasSubstr("rope-scaling")));
}

TEST(ModelDetailsTest, TheCapacityOfExpertsReachesMegatron) {
  PlannedTraining planned = Llama31();
  planned.model = *BuiltinModel("mixtral-8x7b");
  for (LayerSpec& layer : planned.model.layers) {
    if (layer.is_moe()) layer.expert_capacity_factor = 1.25;
  }
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("megatron", planned));
  EXPECT_THAT(ContentOf(exported, "megatron.args"),
              AllOf(HasSubstr("--moe-expert-capacity-factor 1.25\n"),
                    HasSubstr("--moe-pad-expert-input-to-capacity\n")));
  for (LayerSpec& layer : planned.model.layers) {
    if (layer.is_moe()) layer.expert_group_tokens = 2048;
  }
  const TrainingOptions training = planned.training;
  EXPECT_THAT(LostDetails(planned.model, training, {.expert_capacity = true}),
              Contains("model.experts.group_tokens: 2048; becomes none: tokens "
                       "are sorted by expert"));
  EXPECT_THAT(LostDetails(planned.model, training, {}),
              Contains("model.experts.capacity_factor: 1.25; becomes none"));
}

TEST(ModelDetailsTest, AFrameworkWithAModelOfItsOwnTakesNone) {
  EXPECT_THAT(
      LostDetails(Llama31().model, {.precision = Precision::kFp16}, {}),
      ElementsAre("model.rope_theta: 500000; becomes that of the framework's "
                  "own model",
                  "model.rope_scaling: llama3 by 8; becomes none",
                  "model.norm_epsilon: 1.0e-05; becomes that of the "
                  "framework's own model",
                  "model.attention_dropout: 0.0; becomes 0.1"));
}

// The plan loses nothing, so planning for the framework succeeds.
TEST(ModelDetailsTest, AreNoLossesOfThePlan) {
  PlannedTraining planned = Llama31();
  planned.model.details.dtype = "bfloat16";
  ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                       ExportPlan("megatron", planned));
  EXPECT_THAT(exported.losses, IsEmpty());
}

}  // namespace
}  // namespace tangram
