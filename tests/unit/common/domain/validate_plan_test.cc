#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/domain/plan_validator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::NodeGpus;
using testing::StageOn;
using testing::StatusIs;

// Two nodes of four GPUs; embedding, four layers, head (layers 0 to 5), 16
// heads; batch 32.
struct Inputs {
  ModelSpec model = testing::TestModel(4);
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()}});
  TrainingOptions training = testing::TestTraining();
  PipelinePlan plan = {
      .pipeline_microbatch_size = 4,
      .stages = {
          StageOn(0, 3, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(0, 4)),
          StageOn(3, 6, {.cp_degree = 2, .dp_degree = 2}, NodeGpus(1, 4))}};

  absl::Status Validate() const {
    return ValidatePlan(model, cluster, training, plan);
  }
  StagePlan& stage(int i) { return plan.stages[i].plan; }
};

TEST(ValidatePlanTest, AcceptsAPlanThatCanRun) {
  EXPECT_THAT(Inputs().Validate(), IsOk());
}

TEST(ValidatePlanTest, AcceptsCutsInsideALayer) {
  Inputs in;
  in.stage(0).end = {2, 5};  // Touches layers 0, 1 and a part of 2.
  in.stage(1).begin = {2, 5};
  in.stage(1).recompute = {{.num_layers = 4}};
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(ValidatePlanTest, AcceptsTensorParallelismOverFewerKeyValueHeads) {
  Inputs in;
  for (LayerSpec& layer : in.model.layers) layer.num_kv_heads = 2;
  in.stage(0).parallelism = {.tp_degree = 4};
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(ValidatePlanTest, AcceptsTensorParallelismInTwoDimensions) {
  Inputs in;
  in.stage(0).parallelism = {.tp_degree = 4, .tp_y_degree = 2};
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(ValidatePlanTest, AcceptsAStageThatTakesUnequalPartsOfNodes) {
  Inputs in;
  in.plan.stages = {StageOn(0, 6, {.dp_degree = 4}, NodeGpus(0, 3))};
  in.plan.stages[0].gpus.push_back({.node = 1, .index = 3});
  EXPECT_THAT(in.Validate(), IsOk());
}

// Four chunks on two devices; eight microbatches.
void Interleave(Inputs& in) {
  const PlacedStage first = in.plan.stages[0];
  const PlacedStage second = in.plan.stages[1];
  const auto chunk = [](int begin, int end, const PlacedStage& stage) {
    return StageOn(begin, end, stage.plan.parallelism, stage.gpus);
  };
  in.plan.schedule = PipelineSchedule::kInterleaved;
  in.plan.virtual_stages = 2;
  in.plan.stages = {chunk(0, 2, first), chunk(2, 3, second), chunk(3, 5, first),
                    chunk(5, 6, second)};
}

TEST(ValidatePlanTest, AcceptsEverySchedule) {
  Inputs in;
  for (const PipelineSchedule schedule : kPipelineSchedules) {
    in.plan.schedule = schedule;
    EXPECT_THAT(in.Validate(), IsOk());
  }
  Interleave(in);
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(ValidatePlanTest, AcceptsDroppedOutputs) {
  Inputs in;
  in.stage(0).recompute = {{.num_layers = 3, .mask = 1 | kDropOutputs}};
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(ValidatePlanTest, AcceptsOffloadToAKnownHost) {
  Inputs in;
  for (Node& node : in.cluster.nodes) {
    node.device.host = {.bandwidth_bytes_per_s = 1e9};
  }
  in.stage(0).offload = {
      .weights = 1, .gradients = 0.5, .optimizer = 1, .activations = 0.25};
  EXPECT_THAT(in.Validate(), IsOk());
}

struct BadPlan {
  std::string name;
  std::function<void(Inputs&)> spoil;
  std::string message;
};

class ValidatePlanBadTest : public ::testing::TestWithParam<BadPlan> {};

TEST_P(ValidatePlanBadTest, NamesFieldValueAndWhatWasExpected) {
  Inputs in;
  GetParam().spoil(in);
  EXPECT_THAT(in.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr(GetParam().message)));
}

std::vector<BadPlan> BadBatches() {
  return {
      {"BatchNotPositive",
       [](Inputs& in) { in.training.global_batch_size = 0; },
       "training.global_batch_size: 0; expected a positive integer"},
      {"SequenceNotPositive",
       [](Inputs& in) { in.training.sequence_length = -1; },
       "training.sequence_length: -1; expected a positive integer"},
      {"MicrobatchNotPositive",
       [](Inputs& in) { in.plan.pipeline_microbatch_size = 0; },
       "pipeline_microbatch_size: 0; expected a positive integer"},
      {"MicrobatchDoesNotDivideBatch",
       [](Inputs& in) { in.plan.pipeline_microbatch_size = 12; },
       "pipeline_microbatch_size: 12; expected a divisor of the global batch "
       "size, 32"},
  };
}

std::vector<BadPlan> BadOffload() {
  return {
      {"OffloadOfMoreThanAll",
       [](Inputs& in) { in.stage(1).offload.optimizer = 1.5; },
       "stages[1].plan.offload.optimizer: 1.5; expected a fraction from 0 to "
       "1"},
      {"OffloadOfANegativeFraction",
       [](Inputs& in) { in.stage(0).offload.weights = -0.5; },
       "stages[0].plan.offload.weights: -0.5; expected a fraction from 0 to 1"},
      {"OffloadToAnUnknownHost",
       [](Inputs& in) { in.stage(1).offload.activations = 0.5; },
       "stages[1].plan.offload: given; expected none, as the host link of node "
       "a-1 is not known"},
  };
}

std::vector<BadPlan> BadCoverage() {
  return {
      {"NoStages", [](Inputs& in) { in.plan.stages.clear(); },
       "stages: none; expected at least one"},
      {"FirstStageBeginsLate",
       [](Inputs& in) {
         in.stage(0).begin = {1, 0};
       },
       "stages[0].plan.begin: layer 1; expected layer 0"},
      {"Gap",
       [](Inputs& in) {
         in.stage(1).begin = {4, 0};
       },
       "stages[1].plan.begin: layer 4; expected layer 3 (no stage runs what is "
       "between)"},
      {"Overlap",
       [](Inputs& in) {
         in.stage(1).begin = {2, 5};
       },
       "stages[1].plan.begin: layer 2 operator 5; expected layer 3 (the stages "
       "overlap)"},
      {"EmptyStage",
       [](Inputs& in) {
         in.stage(0).end = {0, 0};
       },
       "stages[0].plan.end: layer 0; expected a cut after layer 0 (the stage "
       "is empty)"},
      {"EndsEarly",
       [](Inputs& in) {
         in.stage(1).end = {5, 1};
       },
       "stages[1].plan.end: layer 5 operator 1; expected layer 6, the end of "
       "all layers"},
      {"LayerOutOfRange",
       [](Inputs& in) {
         in.stage(1).end = {7, 0};
       },
       "stages[1].plan.end: layer 7; expected a layer from 0 to 6"},
      {"LayerNegative",
       [](Inputs& in) {
         in.stage(0).begin = {-1, 0};
       },
       "stages[0].plan.begin: layer -1; expected a layer from 0 to 6"},
      {"OperatorOutOfRange",
       [](Inputs& in) {
         in.stage(0).end = {2, 10};
       },
       "stages[0].plan.end: layer 2 operator 10; expected an operator from 0 "
       "to 9"},
      {"OperatorAfterTheEnd",
       [](Inputs& in) {
         in.stage(1).end = {6, 1};
       },
       "stages[1].plan.end: layer 6 operator 1; expected an operator from 0 to "
       "0"},
  };
}

std::vector<BadPlan> BadDegrees() {
  return {
      {"DegreeNotPositive",
       [](Inputs& in) { in.stage(0).parallelism.tp_degree = 0; },
       "stages[0].plan.parallelism.tp_degree: 0; expected a positive integer, "
       "at most the 4 GPUs that the stage may use"},
      {"DegreeHuge",
       [](Inputs& in) { in.stage(1).parallelism.cp_degree = 2'000'000'000; },
       "stages[1].plan.parallelism.cp_degree: 2000000000; expected"},
      {"NoGpus", [](Inputs& in) { in.plan.stages[0].gpus.clear(); },
       "stages[0].gpus: none; expected at least one"},
      {"GpusAreNotTheProduct",
       [](Inputs& in) { in.stage(0).parallelism.dp_degree = 1; },
       "stages[0].gpus: 4 GPUs; expected 2, as tp 2 x cp 1 x dp 1"},
      {"ZeroStage", [](Inputs& in) { in.stage(0).parallelism.zero_stage = 4; },
       "stages[0].plan.parallelism.zero_stage: 4; expected 0, 1, 2 or 3"},
      {"ZeroDegreeWithoutZero",
       [](Inputs& in) { in.stage(0).parallelism.zero_degree = 2; },
       "stages[0].plan.parallelism.zero_degree: 2; expected none, as "
       "zero_stage is 0"},
      {"ZeroDegreeOfOneRank",
       [](Inputs& in) {
         in.stage(0).parallelism.zero_stage = 1;
         in.stage(0).parallelism.zero_degree = 1;
       },
       "stages[0].plan.parallelism.zero_degree: 1; expected at least 2, or "
       "none "
       "for all dp ranks"},
      {"ZeroDegreeDoesNotDivideDp",
       [](Inputs& in) {
         in.stage(0).parallelism.zero_stage = 3;
         in.stage(0).parallelism.zero_degree = 4;
       },
       "stages[0].plan.parallelism.zero_degree: 4; expected a divisor of "
       "dp_degree, 2"},
      {"ZeroDegreeHoldsNotEveryExpert",
       [](Inputs& in) {
         for (LayerSpec& layer : in.model.layers) {
           if (layer.kind != LayerKind::kTransformer) continue;
           layer.num_experts = 8;
           layer.experts_per_token = 2;
         }
         in.stage(0).parallelism = {
             .dp_degree = 4, .ep_degree = 4, .zero_stage = 1, .zero_degree = 2};
       },
       "stages[0].plan.parallelism.zero_degree: 2; expected cp x zero_degree, "
       "2, to be a multiple of ep_degree, 4"},
      {"DpDoesNotDivideMicrobatch",
       [](Inputs& in) { in.plan.pipeline_microbatch_size = 1; },
       "stages[0].plan.parallelism.dp_degree: 2; expected a divisor of the "
       "pipeline microbatch, 1"},
      {"CpDoesNotDivideSequence",
       [](Inputs& in) { in.training.sequence_length = 511; },
       "stages[1].plan.parallelism.cp_degree: 2; expected twice it to divide "
       "the sequence length, 511"},
      {"TpDoesNotDivideHeads",
       [](Inputs& in) { in.model.layers[2].num_heads = 15; },
       "stages[0].plan.parallelism.tp_degree: 2; expected a divisor of the "
       "number of heads, 15"},
      {"TpAgainstKeyValueHeads",
       [](Inputs& in) { in.model.layers[2].num_kv_heads = 3; },
       "stages[0].plan.parallelism.tp_degree: 2; expected a divisor or a "
       "multiple of the number of key and value heads, 3"},
      {"EpDoesNotDivideReplicas",
       [](Inputs& in) { in.stage(0).parallelism.ep_degree = 4; },
       "stages[0].plan.parallelism.ep_degree: 4; expected a divisor of cp x "
       "dp, 2"},
      {"EpDoesNotDivideExperts",
       [](Inputs& in) {
         in.model.layers[4].num_experts = 7;
         in.stage(1).parallelism.ep_degree = 2;
       },
       "stages[1].plan.parallelism.ep_degree: 2; expected a divisor of the "
       "number of experts, 7"},
      {"EpWithoutExperts",
       [](Inputs& in) { in.stage(0).parallelism.ep_degree = 2; },
       "stages[0].plan.parallelism.ep_degree: 2; expected 1, as no layer has "
       "experts"},
      {"ShardedExpertsWithoutExpertParallelism",
       [](Inputs& in) { in.stage(0).parallelism.fsep = true; },
       "stages[0].plan.parallelism.fsep: true; expected false, as ep_degree is "
       "1"},
      {"DegreesOfMoreGpus",
       [](Inputs& in) {
         in.stage(0).parallelism = {.tp_degree = 4, .dp_degree = 2};
       },
       "stages[0].plan.parallelism: tp 4 x cp 1 x dp 2; expected at most the 4 "
       "GPUs"},
      {"TpYNotPositive",
       [](Inputs& in) { in.stage(0).parallelism.tp_y_degree = 0; },
       "stages[0].plan.parallelism.tp_y_degree: 0; expected a positive "
       "integer"},
      {"TpYDoesNotDivideTp",
       [](Inputs& in) { in.stage(0).parallelism.tp_y_degree = 4; },
       "stages[0].plan.parallelism.tp_y_degree: 4; expected a divisor of "
       "tp_degree, 2"},
      {"TpYWithSequenceParallelism",
       [](Inputs& in) {
         in.stage(0).parallelism.tp_y_degree = 2;
         in.stage(0).parallelism.sequence_parallel = true;
       },
       "stages[0].plan.parallelism.tp_y_degree: 2; expected 1 with "
       "sequence_parallel"},
      {"TpYWithExperts",
       [](Inputs& in) {
         in.stage(0).parallelism.tp_y_degree = 2;
         in.model.layers[2].num_experts = 8;
       },
       "stages[0].plan.parallelism.tp_y_degree: 2; expected 1, as layer 2 has "
       "experts, latent attention or Mamba"},
  };
}

std::vector<BadPlan> BadSchedules() {
  return {
      {"VirtualStagesNotPositive",
       [](Inputs& in) { in.plan.virtual_stages = 0; },
       "virtual_stages: 0; expected a positive integer"},
      {"VirtualStagesOfAnotherSchedule",
       [](Inputs& in) {
         Interleave(in);
         in.plan.schedule = PipelineSchedule::kOneFOneB;
       },
       "virtual_stages: 2; expected 1, as the schedule is 1f1b and not "
       "interleaved"},
      {"StagesDoNotFillTheDevices",
       [](Inputs& in) {
         Interleave(in);
         in.plan.virtual_stages = 3;
       },
       "stages: 4; expected a multiple of virtual_stages, 3"},
      {"MoreVirtualStagesThanStages",
       [](Inputs& in) {
         Interleave(in);
         in.plan.virtual_stages = 8;
       },
       "stages: 4; expected a multiple of virtual_stages, 8"},
      {"MicrobatchesAreNotGroups",
       [](Inputs& in) {
         Interleave(in);
         in.training.global_batch_size = 36;
       },
       "pipeline_microbatch_size: 4; expected a number of microbatches, here "
       "9, that is a multiple of the interleaved schedule's 2 devices"},
      {"ChunksOnOtherGpus",
       [](Inputs& in) {
         Interleave(in);
         std::swap(in.plan.stages[2].gpus[0], in.plan.stages[2].gpus[1]);
       },
       "stages[2].gpus: other GPUs or another order; expected those of "
       "stages[0], a chunk of the same device"},
      {"ChunksOfOtherParallelism",
       [](Inputs& in) {
         Interleave(in);
         in.stage(3).parallelism.zero_stage = 1;
       },
       "stages[3].plan.parallelism: other degrees or options; expected those "
       "of stages[1], a chunk of the same device"},
      {"DevicesShareGpus",
       [](Inputs& in) {
         Interleave(in);
         in.plan.stages[1].gpus = in.plan.stages[0].gpus;
         in.plan.stages[3].gpus = in.plan.stages[0].gpus;
       },
       "stages[1].gpus[0]: GPU 0 of node a-0, which stages[0] uses"},
  };
}

std::vector<BadPlan> BadRecompute() {
  return {
      {"RecomputeTooShort",
       [](Inputs& in) { in.stage(0).recompute = {{.num_layers = 2}}; },
       "stages[0].plan.recompute: 2 layers; expected 3, as many as the stage "
       "touches"},
      {"RecomputeTooLong",
       [](Inputs& in) {
         in.stage(0).recompute = {{.num_layers = 2}, {.num_layers = 2}};
       },
       "stages[0].plan.recompute[1].num_layers: 2; expected a positive "
       "integer, at most the 1 layers that are left of the stage"},
      {"RecomputeNegative",
       [](Inputs& in) {
         in.stage(0).recompute = {{.num_layers = -1}, {.num_layers = 4}};
       },
       "stages[0].plan.recompute[0].num_layers: -1; expected a positive "
       "integer"},
      {"RecomputeBeyondOperators",
       [](Inputs& in) {
         in.stage(1).recompute = {{.num_layers = 2, .mask = 0x3ff},
                                  {.num_layers = 1, .mask = 0x4}};
       },
       "stages[1].plan.recompute[1].mask: 0x4; expected bits below 2 only, the "
       "number of operators of layer 5"},
  };
}

std::vector<BadPlan> BadGpus() {
  return {
      {"GpuTwice",
       [](Inputs& in) { in.plan.stages[1].gpus[2] = {.node = 0, .index = 3}; },
       "stages[1].gpus[2]: GPU 3 of node a-0, which stages[0] uses; expected "
       "each GPU at most once"},
      {"GpuTwiceInOneStage",
       [](Inputs& in) { in.plan.stages[0].gpus[1] = {.node = 0, .index = 0}; },
       "stages[0].gpus[1]: GPU 0 of node a-0, which stages[0] uses"},
      {"NodeUnknown", [](Inputs& in) { in.plan.stages[1].gpus[0].node = 2; },
       "stages[1].gpus[0]: node 2; expected one of the cluster's 2 nodes"},
      {"NodeNegative", [](Inputs& in) { in.plan.stages[1].gpus[0].node = -1; },
       "stages[1].gpus[0]: node -1; expected one of the cluster's 2 nodes"},
      {"GpuUnknown", [](Inputs& in) { in.plan.stages[1].gpus[0].index = 4; },
       "stages[1].gpus[0]: GPU 4 of node a-1; expected one of its 4 GPUs"},
  };
}

std::string NameOf(const ::testing::TestParamInfo<BadPlan>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Batch, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadBatches()), NameOf);
INSTANTIATE_TEST_SUITE_P(Coverage, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadCoverage()), NameOf);
INSTANTIATE_TEST_SUITE_P(Degrees, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadDegrees()), NameOf);
INSTANTIATE_TEST_SUITE_P(Schedule, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadSchedules()), NameOf);
INSTANTIATE_TEST_SUITE_P(Recompute, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadRecompute()), NameOf);
INSTANTIATE_TEST_SUITE_P(Offload, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadOffload()), NameOf);
INSTANTIATE_TEST_SUITE_P(Gpus, ValidatePlanBadTest,
                         ::testing::ValuesIn(BadGpus()), NameOf);

// A search checks many plans of the same GPUs with one validator.
TEST(PlanValidatorTest, TellsGpusFromThoseOfThePlanBefore) {
  Inputs in;
  PlanValidator validator(in.model, in.cluster, in.training);
  PipelinePlan twice = in.plan;
  twice.stages[1].gpus[3] = twice.stages[0].gpus[0];
  PipelinePlan swapped = in.plan;
  std::swap(swapped.stages[0].gpus, swapped.stages[1].gpus);
  for (const PipelinePlan& good : {in.plan, in.plan, swapped, in.plan}) {
    EXPECT_THAT(validator.Check(good), IsOk());
    EXPECT_THAT(validator.Check(twice),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("each GPU at most once")));
  }
}

// Only the second node runs flash attention.
TEST(PlanValidatorTest, KnowsWhichGpusRunContextParallelism) {
  Inputs in;
  in.cluster.nodes[0].device.supports_flash_attention = false;
  PlanValidator validator(in.model, in.cluster, in.training);
  PipelinePlan bad = in.plan;
  bad.stages[0].plan.parallelism = {.cp_degree = 2, .dp_degree = 2};
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(validator.Check(in.plan), IsOk());
    EXPECT_THAT(validator.Check(bad),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("flash attention does not run")));
  }
}

}  // namespace
}  // namespace tangram
