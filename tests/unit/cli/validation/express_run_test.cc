#include "cli/validation/express_run.h"

#include "cli/validation/run_parts.h"
#include "cli/validation/runtime_habits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/measured_runs.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::GptRun;
using ::testing::HasSubstr;
using testing::kBadInput;
using testing::kCannot;
using testing::NodeGpus;
using ::testing::SizeIs;
using testing::StatusIs;

TEST(ExpressRunTest, SaysWhatRanWhereAndHow) {
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(GptRun()));

  EXPECT_THAT(run.model.layers, SizeIs(10));
  ASSERT_THAT(run.cluster.nodes, SizeIs(1));
  EXPECT_EQ(run.cluster.nodes[0].num_gpus, 8);
  EXPECT_EQ(run.training.global_batch_size, 32);
  EXPECT_EQ(run.training.sequence_length, 1024);
  EXPECT_EQ(run.plan.schedule, PipelineSchedule::kOneFOneB);
  EXPECT_EQ(run.plan.pipeline_microbatch_size, 4);  // 2 · dp 2.
  ASSERT_THAT(run.plan.stages, SizeIs(2));
  EXPECT_EQ(run.plan.stages[0].plan.end, (OperatorCut{5, 0}));
  EXPECT_EQ(run.plan.stages[0].gpus, NodeGpus(0, 4));
  EXPECT_EQ(run.plan.stages[1].gpus, NodeGpus(0, 4, 4));
}

TEST(ExpressRunTest, ChunksOfADeviceShareItsGpus) {
  MeasuredRun measured = GptRun();
  measured.virtual_stages = 2;
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));

  EXPECT_EQ(run.plan.schedule, PipelineSchedule::kInterleaved);
  EXPECT_EQ(run.plan.virtual_stages, 2);
  ASSERT_THAT(run.plan.stages, SizeIs(4));
  EXPECT_EQ(run.plan.stages[0].gpus, NodeGpus(0, 4));
  EXPECT_EQ(run.plan.stages[1].gpus, NodeGpus(0, 4, 4));
  EXPECT_EQ(run.plan.stages[2].gpus, run.plan.stages[0].gpus);
  EXPECT_EQ(run.plan.stages[3].gpus, run.plan.stages[1].gpus);
}

TEST(ExpressRunTest, SailorsModelsDoNotTieEmbeddings) {
  MeasuredRun run = GptRun();
  ASSERT_OK_AND_ASSIGN(const ExpressedRun tied, ExpressRun(run));
  run.framework = "Sailor";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun untied, ExpressRun(run));

  EXPECT_TRUE(tied.model.layers.back().tied_embeddings);
  EXPECT_FALSE(untied.model.layers.front().tied_embeddings);
  EXPECT_FALSE(untied.model.layers.back().tied_embeddings);
}

TEST(ExpressRunTest, HostsOfEarlyMegatronAreSlow) {
  ASSERT_OK_AND_ASSIGN(const CatalogueDevice* device,
                       FindRunDevice("A100-80", true));
  const DeviceEfficiency& catalogue = device->device.efficiency;
  MeasuredRun measured = GptRun();
  measured.framework = "Megatron-LM v1.1.5";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));

  const DeviceEfficiency& used = run.cluster.nodes[0].device.efficiency;
  EXPECT_GT(catalogue.host_launch_s, 0);
  EXPECT_DOUBLE_EQ(used.host_launch_s, 3.35 * catalogue.host_launch_s);
  EXPECT_DOUBLE_EQ(used.memory_fraction, 0.53 * catalogue.memory_fraction);
  EXPECT_DOUBLE_EQ(used.attention_fraction, catalogue.attention_fraction);
}

TEST(ExpressRunTest, DeepSpeedKeepsBuffers) {
  ASSERT_OK_AND_ASSIGN(const CatalogueDevice* device,
                       FindRunDevice("A100-80", true));
  MeasuredRun measured = GptRun();
  measured.framework = "Megatron-DeepSpeed";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));

  // Three buckets of 5e8 elements of 2 bytes.
  EXPECT_DOUBLE_EQ(run.cluster.nodes[0].device.efficiency.reserved_bytes,
                   device->device.efficiency.reserved_bytes + 3e9);
}

TEST(ExpressRunTest, SailorsHostHandsOverMessagesAndEndsIterations) {
  ASSERT_OK_AND_ASSIGN(const ExpressedRun other, ExpressRun(GptRun()));
  MeasuredRun measured = GptRun();
  measured.framework = "Sailor";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));

  EXPECT_TRUE(run.training.blocking_transfers);
  EXPECT_FALSE(other.training.blocking_transfers);
  EXPECT_DOUBLE_EQ(run.cluster.links[0][0].latency_s,
                   other.cluster.links[0][0].latency_s + 2e-3);
  EXPECT_EQ(run.overhead_s, 60e-3);
  EXPECT_EQ(other.overhead_s, 0);
}

TEST(ExpressRunTest, SailorCopiesGradientsToReduceThem) {
  MeasuredRun measured = GptRun();
  ASSERT_OK_AND_ASSIGN(const ExpressedRun other, ExpressRun(measured));
  EXPECT_THAT(other.overhead_bytes, ElementsAre(0, 0));

  // Half of the model on each stage, over tp 2, 4 bytes each in fp32.
  measured.framework = "Sailor";
  measured.precision = "fp32";
  measured.num_layers = 2;
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));
  const double layer = ParameterCount(run.model.layers[1]);
  const double ends[] = {ParameterCount(run.model.layers[0]),
                         ParameterCount(run.model.layers[3])};
  EXPECT_THAT(run.overhead_bytes,
              ElementsAre((layer + ends[0]) * 2, (layer + ends[1]) * 2));
}

// Half of the model on each stage, over tp 2, 4 bytes each. ZeRO shares them
// among dp 2.
TEST(ExpressRunTest, Fp16GradientsAreCopiedToStep) {
  MeasuredRun measured = GptRun();
  measured.framework = "Megatron-LM";
  measured.precision = "fp16";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun megatron, ExpressRun(measured));
  double parameters = 0;
  for (int l = 5; l < 10; ++l) {
    parameters += ParameterCount(megatron.model.layers[l]);
  }
  EXPECT_DOUBLE_EQ(megatron.step_bytes[1], 2 * parameters);
  EXPECT_THAT(megatron.overhead_bytes, ElementsAre(0, 0));

  // DeepSpeed needs one piece of memory for all of them.
  measured.framework = "Megatron-DeepSpeed";
  measured.zero = "1";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun deepspeed, ExpressRun(measured));
  EXPECT_THAT(deepspeed.step_bytes, ElementsAre(0, 0));
  EXPECT_DOUBLE_EQ(deepspeed.overhead_bytes[1], parameters);

  measured.precision = "bf16";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun bf16, ExpressRun(measured));
  EXPECT_THAT(bf16.overhead_bytes, ElementsAre(0, 0));
}

TEST(ExpressRunTest, StateIsShardedOverAPartOfDp) {
  MeasuredRun measured = GptRun();
  measured.tp_degree = 1;
  measured.dp_degree = 4;
  for (const auto& [text, degree] :
       {std::pair("1", 0), std::pair("1 over 2", 2), std::pair("1 over 4", 0),
        std::pair("FSDP group 2", 2), std::pair("FSDP group 64", 0),
        std::pair("FSDP (over NVLink)", 0), std::pair("0 over 2", 0)}) {
    measured.zero = text;
    ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));
    EXPECT_EQ(run.plan.stages[1].plan.parallelism.zero_degree, degree) << text;
  }
  measured.zero = "1 over 3";
  EXPECT_THAT(ExpressRun(measured).status(),
              StatusIs(kBadInput, HasSubstr("zero_degree: 3; expected a "
                                            "divisor of dp_degree, 4")));
}

TEST(ExpressRunTest, AProfileOfAnotherFrameworkTellsNothingOfMemory) {
  Profile profile = {.device = "A100-80",
                     .framework = "Megatron-LM (Aceso)",
                     .context_bytes = 7e9};
  MeasuredRun measured = GptRun();
  const auto reserved_bytes = [&](const char* framework) {
    measured.framework = framework;
    return ExpressRun(measured, {&profile, 1})
        ->cluster.nodes[0]
        .device.efficiency.reserved_bytes;
  };
  EXPECT_EQ(reserved_bytes("Aceso runtime (Megatron)"), 7e9);
  EXPECT_NE(reserved_bytes("PyTorch FSDP"), 7e9);
  profile.framework = "a script";
  EXPECT_EQ(reserved_bytes("PyTorch FSDP"), 7e9);
}

TEST(ExpressRunTest, LinksOfAProfileCountWhereTheRowStatesNone) {
  const Profile profile = {.device = "A100-80",
                           .links = {{.link = {3e9, 4e9, 1e-6}},
                                     {.to = "A100-80", .link = {1e9, 2e9, 0}}}};
  MeasuredRun measured = GptRun();
  ASSERT_OK_AND_ASSIGN(const ExpressedRun silent,
                       ExpressRun(measured, {profile}));
  EXPECT_EQ(silent.cluster.nodes[0].intra_node, (Link{3e9, 4e9, 1e-6}));
  EXPECT_EQ(silent.cluster.links[0][0], (Link{1e9, 2e9, 0}));

  measured.intra_link = "PCIe";
  measured.inter_link = "800 Gbps per node";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun stated,
                       ExpressRun(measured, {profile}));
  ASSERT_OK_AND_ASSIGN(const ExpressedRun without, ExpressRun(measured));
  EXPECT_EQ(stated.cluster.nodes[0].intra_node,
            without.cluster.nodes[0].intra_node);
  EXPECT_EQ(stated.cluster.links, without.cluster.links);
}

TEST(ExpressRunTest, Tf32RunsAtHalfTheRateOfBf16) {
  MeasuredRun measured = GptRun();
  measured.framework = "HomeGrown 1.0";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun half, ExpressRun(measured));
  measured.precision = "fp32";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun ampere, ExpressRun(measured));
  measured.gpu = "V100-32";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun volta, ExpressRun(measured));

  EXPECT_DOUBLE_EQ(ampere.cluster.nodes[0].device.peak_flops.fp32, 156e12);
  // Products in 16 bits never run in TF32.
  EXPECT_DOUBLE_EQ(half.cluster.nodes[0].device.peak_flops.fp32, 19.5e12);
  // Volta has no such units.
  EXPECT_DOUBLE_EQ(volta.cluster.nodes[0].device.peak_flops.fp32, 15.7e12);
}

TEST(ExpressRunTest, FlashAttention2IsSlowerFromHopperOn) {
  MeasuredRun measured = GptRun();
  measured.framework = "PyTorch FSDP";
  for (const char* gpu : {"H100", "GB200"}) {
    measured.gpu = gpu;
    ASSERT_OK_AND_ASSIGN(const CatalogueDevice* device,
                         FindRunDevice(gpu, true));
    ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));
    EXPECT_DOUBLE_EQ(run.cluster.nodes[0].device.efficiency.attention_fraction,
                     0.65 * device->device.efficiency.attention_fraction);
  }
}

TEST(ExpressRunTest, TheDatasheetTellsWhetherAttentionIsSlower) {
  CatalogueDevice device = **FindRunDevice("H100", true);
  device.device.type = "NEW-1";
  MeasuredRun measured = GptRun();
  measured.framework = "PyTorch FSDP";
  measured.gpu = "NEW-1";
  const auto slowdown = [&] {
    const ExpressedRun run = *ExpressRun(measured, {}, {&device, 1});
    return run.cluster.nodes[0].device.efficiency.attention_fraction /
           device.device.efficiency.attention_fraction;
  };
  EXPECT_DOUBLE_EQ(slowdown(), 0.65);
  device.device.memory_bandwidth_bytes_per_s = 1e12;  // A card.
  EXPECT_DOUBLE_EQ(slowdown(), 1);
}

TEST(ExpressRunTest, CollectivesOfTpHideWhereTheRowSaysSo) {
  MeasuredRun measured = GptRun();
  ASSERT_OK_AND_ASSIGN(const ExpressedRun shown, ExpressRun(measured));
  measured.notes = "tp-comm-overlap on";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun hidden, ExpressRun(measured));

  EXPECT_DOUBLE_EQ(hidden.cluster.nodes[0].intra_node.bandwidth_bytes_per_s,
                   kHiddenTpLinkFactor *
                       shown.cluster.nodes[0].intra_node.bandwidth_bytes_per_s);
}

TEST(ExpressRunTest, BenchmarksBalanceExperts) {
  MeasuredRun measured = GptRun();
  measured.framework = "Megatron Bridge 26.02";
  measured.num_experts = 8;
  measured.experts_per_token = 2;
  measured.ffn_hidden_size = 4096;
  ASSERT_OK_AND_ASSIGN(const ExpressedRun run, ExpressRun(measured));
  EXPECT_EQ(run.model.layers[1].expert_capacity_factor, 1);
  measured.framework = "Megatron-Core 0.8";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun real, ExpressRun(measured));
  EXPECT_EQ(real.model.layers[1].expert_capacity_factor, 0);
}

TEST(ExpressRunTest, NeedsHardwareAndBatch) {
  for (int MeasuredRun::*field :
       {&MeasuredRun::num_gpus, &MeasuredRun::global_batch_size,
        &MeasuredRun::sequence_length}) {
    MeasuredRun run = GptRun();
    run.*field = 0;
    EXPECT_THAT(ExpressRun(run), StatusIs(kCannot, HasSubstr("not stated")));
  }
}

TEST(ExpressRunTest, EveryStageOffloadsWhatTheRowSays) {
  MeasuredRun run = GptRun();
  run.offload = "optimizer, activations 0.25";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun expressed, ExpressRun(run));
  for (const PlacedStage& stage : expressed.plan.stages) {
    EXPECT_EQ(stage.plan.offload,
              (HostOffload{.optimizer = 1, .activations = 0.25}));
  }
  run.offload = "none";
  ASSERT_OK_AND_ASSIGN(const ExpressedRun without, ExpressRun(run));
  EXPECT_TRUE(without.plan.stages[0].plan.offload.none());
}

TEST(ExpressRunTest, OtherOffloadCannotBeExpressed) {
  MeasuredRun run = GptRun();
  for (const char* other : {"full cpu", "optimizer 2", "optimizer nvme",
                            "optimizer 0.5 0.5", ","}) {
    run.offload = other;
    EXPECT_THAT(ExpressRun(run),
                StatusIs(kCannot, HasSubstr(std::string("offload: ") + other +
                                            "; expected some of weights")));
  }
}

TEST(ExpressRunTest, FineTuningCannotBeExpressed) {
  MeasuredRun run = GptRun();
  run.flag = "not pre-training: LoRA";
  EXPECT_THAT(ExpressRun(run),
              StatusIs(kCannot, HasSubstr("not pre-training: LoRA")));
}

TEST(ExpressRunTest, DegreesMultiplyToTheGpus) {
  MeasuredRun run = GptRun();
  run.num_gpus = 16;
  EXPECT_THAT(ExpressRun(run),
              StatusIs(kBadInput, "num_gpus: 16; the plan uses 8"));
}

TEST(ExpressRunTest, DegreesMultiplyToNoMoreThanTheGpus) {
  MeasuredRun run = GptRun();
  run.dp_degree = 2'000'000'000;
  EXPECT_THAT(ExpressRun(run),
              StatusIs(kBadInput, HasSubstr("for more than num_gpus, 8")));
}

TEST(ExpressRunTest, SizesAreThoseOfModelsAndClusters) {
  for (int MeasuredRun::*field :
       {&MeasuredRun::num_gpus, &MeasuredRun::gpus_per_node,
        &MeasuredRun::num_layers, &MeasuredRun::hidden_size,
        &MeasuredRun::num_heads, &MeasuredRun::vocab_size,
        &MeasuredRun::sequence_length, &MeasuredRun::virtual_stages}) {
    MeasuredRun run = GptRun();
    run.*field = 2'000'000'000;
    EXPECT_THAT(
        ExpressRun(run),
        StatusIs(kBadInput, HasSubstr(": 2000000000; expected at most ")));
  }
}

TEST(ExpressRunTest, ThePlanMustBeOneThatCanRun) {
  MeasuredRun run = GptRun();
  run.microbatch_size = 3;  // 3 · dp 2 does not divide 32.
  EXPECT_THAT(ExpressRun(run),
              StatusIs(kBadInput, HasSubstr("pipeline_microbatch_size: 6")));
}

TEST(TrainingOfRunTest, PrecisionIsReadFromTheText) {
  struct Case {
    const char* text;
    Precision precision;
  };
  for (const Case& want :
       {Case{"fp16 (mixed)", Precision::kFp16}, Case{"BF16", Precision::kBf16},
        Case{"fp32", Precision::kFp32}, Case{"mxfp8", Precision::kFp8},
        Case{"bf16 with fp8 products", Precision::kFp8}}) {
    SCOPED_TRACE(want.text);
    MeasuredRun run = GptRun();
    run.precision = want.text;
    ASSERT_OK_AND_ASSIGN(const TrainingOptions training, TrainingOfRun(run));
    EXPECT_EQ(training.precision, want.precision);
  }
}

TEST(TrainingOfRunTest, PrecisionIsUsuallyThatOfTheGpu) {
  struct Case {
    const char* gpu;
    Precision precision;
  };
  for (const Case& want :
       {Case{"V100-16", Precision::kFp16}, Case{"V100-16+T4", Precision::kFp16},
        Case{"A100-80", Precision::kBf16}}) {
    MeasuredRun run = GptRun();
    run.gpu = want.gpu;
    ASSERT_OK_AND_ASSIGN(const TrainingOptions training, TrainingOfRun(run));
    EXPECT_EQ(training.precision, want.precision) << want.gpu;
  }
}

TEST(TrainingOfRunTest, OtherPrecisionsCannotBeExpressed) {
  MeasuredRun run = GptRun();
  run.precision = "int4";
  EXPECT_THAT(TrainingOfRun(run),
              StatusIs(kCannot, HasSubstr("precision: int4")));
}

TEST(TrainingOfRunTest, TheRowsAttentionComesBeforeTheHabit) {
  MeasuredRun run = GptRun();
  ASSERT_OK_AND_ASSIGN(const TrainingOptions habit, TrainingOfRun(run));
  run.attention = "flash-2";
  ASSERT_OK_AND_ASSIGN(const TrainingOptions flash, TrainingOfRun(run));
  run.framework = "";
  run.attention = "torch";
  ASSERT_OK_AND_ASSIGN(const TrainingOptions unfused, TrainingOfRun(run));

  EXPECT_FALSE(habit.flash_attention);  // Megatron-LM before 2023.
  EXPECT_TRUE(flash.flash_attention);
  EXPECT_FALSE(unfused.flash_attention);
}

TEST(TrainingOfRunTest, DeepSpeedKeepsGradientsTwiceInBf16) {
  MeasuredRun run = GptRun();
  run.framework = "Megatron-DeepSpeed";
  run.precision = "bf16";
  ASSERT_OK_AND_ASSIGN(const TrainingOptions bf16, TrainingOfRun(run));
  EXPECT_TRUE(bf16.fp32_gradients);
  EXPECT_TRUE(bf16.gradient_copy);
  run.precision = "fp16";
  ASSERT_OK_AND_ASSIGN(const TrainingOptions fp16, TrainingOfRun(run));
  EXPECT_FALSE(fp16.gradient_copy);
}

TEST(TrainingOfRunTest, GradientsInBf16AreSummedInFp32ByMost) {
  struct Case {
    const char* framework;
    const char* precision;
    bool fp32_gradients;
  };
  for (const Case& want :
       {Case{"Megatron-LM", "fp16", false}, Case{"Megatron-LM", "bf16", true},
        Case{"PyTorch FSDP", "bf16", false},
        Case{"Megatron Bridge", "bf16", false},
        Case{"Megatron-Core", "fp16", true}}) {
    MeasuredRun run = GptRun();
    run.framework = want.framework;
    run.precision = want.precision;
    ASSERT_OK_AND_ASSIGN(const TrainingOptions training, TrainingOfRun(run));
    EXPECT_EQ(training.fp32_gradients, want.fp32_gradients)
        << want.framework << " " << want.precision;
  }
}

TEST(TrainingOfRunTest, TheRestIsTheFrameworksHabit) {
  MeasuredRun run = GptRun();
  ASSERT_OK_AND_ASSIGN(const TrainingOptions early, TrainingOfRun(run));
  run.framework = "Megatron-Core";
  ASSERT_OK_AND_ASSIGN(const TrainingOptions today, TrainingOfRun(run));

  EXPECT_TRUE(early.dropout);
  EXPECT_FALSE(early.overlap_grad_reduce);
  EXPECT_FALSE(today.dropout);
  EXPECT_TRUE(today.fp32_gradients);
  EXPECT_TRUE(today.overlap_grad_reduce);
}

}  // namespace
}  // namespace tangram
