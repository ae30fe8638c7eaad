#include "cli/validation/runtime_habits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(HabitsOfTest, MegatronBefore2023FusedLittle) {
  for (const char* name : {"Megatron-LM", "Megatron-DeepSpeed", "Alpa",
                           "Aceso runtime (Megatron)", "DeepSpeed"}) {
    SCOPED_TRACE(name);
    const RuntimeHabits habits = HabitsOf(name);
    EXPECT_FALSE(habits.flash_attention);
    EXPECT_FALSE(habits.fp32_gradients);
    EXPECT_FALSE(habits.overlap_grad_reduce);
    EXPECT_FALSE(habits.sequence_parallel);
    EXPECT_TRUE(habits.dropout);
    EXPECT_EQ(habits.zero_stage, 0);
    EXPECT_GT(habits.host_factor, 1);
    EXPECT_EQ(habits.elementwise_factor, 1);
  }
}

TEST(HabitsOfTest, AcesoWaitsForWhatItSendsAndKeepsIt) {
  const RuntimeHabits aceso = HabitsOf("Aceso runtime (Megatron)");
  EXPECT_TRUE(aceso.blocking_transfers);
  EXPECT_TRUE(aceso.keeps_sent_tensors);
  EXPECT_FALSE(HabitsOf("Megatron-LM").blocking_transfers);
  EXPECT_FALSE(HabitsOf("Megatron-LM").keeps_sent_tensors);
}

TEST(HabitsOfTest, SailorDoesNotTieEmbeddings) {
  EXPECT_FALSE(HabitsOf("Sailor").ties_embeddings);
  EXPECT_TRUE(HabitsOf("Megatron-LM").ties_embeddings);
}

TEST(HabitsOfTest, MistTrainsWithoutDropout) {
  EXPECT_FALSE(HabitsOf("Mist").dropout);
}

TEST(HabitsOfTest, MegatronOf2020FusedLess) {
  const RuntimeHabits habits = HabitsOf("DeepSpeed 3D (Megatron-LM v1.1.5)");
  EXPECT_LT(habits.elementwise_factor, 1);
  EXPECT_FALSE(habits.fused_loss);
}

TEST(HabitsOfTest, AmpCopiesGradientsAndWaitsForTransfers) {
  const RuntimeHabits habits = HabitsOf("DeepSpeed 3D (Megatron-LM v1.1.5)");
  EXPECT_GT(habits.reduced_at_once, 0);
  EXPECT_TRUE(habits.blocking_transfers);
}

TEST(HabitsOfTest, AmpReducesFp32CopiesOf16BitGradients) {
  const RuntimeHabits habits = HabitsOf("DeepSpeed 3D (Megatron-LM v1.1.5)");
  EXPECT_TRUE(habits.fp32_gradients);
  EXPECT_TRUE(habits.gradient_copy);
  EXPECT_FALSE(HabitsOf("Megatron-LM").fp32_gradients);
}

TEST(HabitsOfTest, DeepSpeedsPipelinesCopyWhatTheyReceive) {
  EXPECT_TRUE(HabitsOf("Megatron-LM v1.1.5").copies_received_tensors);
  EXPECT_TRUE(HabitsOf("Megatron-DeepSpeed").copies_received_tensors);
  EXPECT_FALSE(HabitsOf("Megatron-LM").copies_received_tensors);
}

TEST(HabitsOfTest, MegatronDeepSpeedFillsTheFirstStages) {
  EXPECT_TRUE(HabitsOf("Megatron-DeepSpeed").fills_first_stages);
  EXPECT_TRUE(HabitsOf("Megatron+DeepSpeed").fills_first_stages);
  EXPECT_FALSE(HabitsOf("Megatron-LM").fills_first_stages);
}

TEST(HabitsOfTest, DeepSpeedKeeps16BitGradientsBesideTheirSums) {
  EXPECT_TRUE(HabitsOf("Megatron-DeepSpeed").gradient_copy);
  EXPECT_FALSE(HabitsOf("Megatron-LM").gradient_copy);
}

TEST(HabitsOfTest, TunedRuntimesFuseTheLoss) {
  EXPECT_TRUE(HabitsOf("Composer FSDP").fused_loss);
  EXPECT_TRUE(HabitsOf("Megatron Bridge").fused_loss);
  EXPECT_FALSE(HabitsOf("torchtitan").fused_loss);
}

TEST(HabitsOfTest, MegatronCoreHasADistributedOptimizer) {
  for (const char* name : {"Megatron-Core 0.8", "MCore", "InternEvo"}) {
    const RuntimeHabits habits = HabitsOf(name);
    EXPECT_EQ(habits.zero_stage, 1) << name;
    EXPECT_TRUE(habits.flash_attention) << name;
    EXPECT_TRUE(habits.fp32_gradients) << name;
    EXPECT_FALSE(habits.dropout) << name;
  }
}

TEST(HabitsOfTest, NvidiasRecipesTrainInFp8) {
  for (const char* name : {"Megatron Bridge 26.02 NeMo Container", "NeMo 24.07",
                           "Megatron-Core/NeMo"}) {
    const RuntimeHabits habits = HabitsOf(name);
    EXPECT_EQ(habits.precision, "fp8") << name;
    EXPECT_FALSE(habits.fp32_gradients) << name;
    EXPECT_EQ(habits.zero_stage, 1) << name;
  }
}

TEST(HabitsOfTest, FsdpShardsAllState) {
  for (const char* name : {"PyTorch FSDP", "torchtitan", "Composer FSDP"}) {
    EXPECT_EQ(HabitsOf(name).zero_stage, 3) << name;
  }
  EXPECT_LT(HabitsOf("Composer FSDP").attention_factor, 1);
  EXPECT_EQ(HabitsOf("PyTorch FSDP").attention_factor, 1);
}

TEST(HabitsOfTest, TorchTitansTensorParallelismSplitsTheSequence) {
  EXPECT_TRUE(HabitsOf("torchtitan").sequence_parallel);
  EXPECT_TRUE(HabitsOf("torchtitan (FSDP2 + TP)").sequence_parallel);
  EXPECT_FALSE(HabitsOf("PyTorch FSDP").sequence_parallel);
}

TEST(HabitsOfTest, OnlyTransformerEngineHasTheAttentionOfHopper) {
  for (const char* name : {"Megatron-Core 0.8", "Megatron Bridge 26.02"}) {
    EXPECT_EQ(HabitsOf(name).attention_factor_on_hopper, 1) << name;
  }
  for (const char* name :
       {"PyTorch FSDP", "Composer FSDP", "InternEvo", "HomeGrown 1.0"}) {
    EXPECT_LT(HabitsOf(name).attention_factor_on_hopper, 1) << name;
  }
}

TEST(HabitsOfTest, NvidiasRecipesReplayGraphsSince2606) {
  const RuntimeHabits eager = HabitsOf("Megatron Bridge 26.04.01 NeMo");
  const RuntimeHabits graphs = HabitsOf("Megatron Bridge 26.06 NeMo");
  EXPECT_GT(eager.host_factor, 1);
  EXPECT_LT(graphs.host_factor, 1);
  EXPECT_EQ(eager.elementwise_factor_on_blackwell, 1);
  EXPECT_GT(graphs.elementwise_factor_on_blackwell, 1);
  EXPECT_EQ(HabitsOf("Megatron Bridge 25.09 NeMo").host_factor,
            eager.host_factor);
  EXPECT_EQ(HabitsOf("Megatron Bridge 26.08 NeMo").host_factor,
            graphs.host_factor);
}

TEST(HabitsOfTest, SailorsStagesWaitForTransfers) {
  const RuntimeHabits habits = HabitsOf("Sailor (Megatron-DeepSpeed)");
  EXPECT_TRUE(habits.blocking_transfers);
  EXPECT_GT(habits.message_s, 0);
  EXPECT_GT(habits.iteration_s, 0);
  EXPECT_GT(habits.buffer_bytes, 0);
  EXPECT_FALSE(HabitsOf("Megatron-LM").blocking_transfers);
  EXPECT_EQ(HabitsOf("Megatron-LM").message_s, 0);
  EXPECT_EQ(HabitsOf("Megatron-LM").iteration_s, 0);
}

TEST(HabitsOfTest, UnknownFrameworksAreOfToday) {
  for (const char* name : {"", "HomeGrown 1.0"}) {
    const RuntimeHabits habits = HabitsOf(name);
    EXPECT_TRUE(habits.flash_attention) << name;
    EXPECT_TRUE(habits.overlap_grad_reduce) << name;
    EXPECT_FALSE(habits.dropout) << name;
    EXPECT_EQ(habits.zero_stage, 0) << name;
    EXPECT_EQ(habits.precision, "") << name;
    EXPECT_EQ(habits.host_factor, 1) << name;
  }
}

}  // namespace
}  // namespace tangram
