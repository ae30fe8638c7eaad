#include "common/wire/plan_file.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "common/wire/json_text.h"
#include "common/wire/message_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/plan.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;
using testing::TestCluster;
using testing::TestDevice;
using testing::TestModel;
using testing::TestTraining;

// A plan of two stages on one group of two nodes of four GPUs.
PlanFile ExampleFile() {
  PlanFile file{.cluster = TestCluster({{"t4", 2, 4, TestDevice("T4")}}),
                .model = TestModel(4),
                .training = TestTraining(),
                .constraints = {.exclude_nodes = {"t4-7"},
                                .exclude_islands = {"V100 x8"},
                                .tp_degrees = {{"", 2}, {"T4", 4}},
                                .dp_degrees = {{"T4", 2}},
                                .max_stages = {{"", 8}},
                                .pins = {{0, 3, "T4"}},
                                .runtime = "megatron"},
                .explanation = {"stage 1 is the slowest"},
                .provenance = {.tool_version = "0.1",
                               .parallelizer = "aceso 1",
                               .phases = {{"islands", 0.25}},
                               .wall_s = 1.5,
                               .num_workers = 3,
                               .cache_hits = 7,
                               .coordinator = "host:7070"}};
  const StageParallelism parallelism{.tp_degree = 2, .dp_degree = 2};
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  plan.stages = {{.plan = {.begin = {0, 0},
                           .end = {3, 5},
                           .parallelism = parallelism,
                           .recompute = {{1, 0}, {3, 0b110}}},
                  .gpus = {{0, 0}, {0, 1}, {0, 2}, {0, 3}},
                  .island = 0,
                  .made_by = "aceso"},
                 {.plan = {.begin = {3, 5},
                           .end = {6, 0},
                           .parallelism = parallelism,
                           .recompute = {{3, 0}}},
                  .gpus = {{1, 2}, {1, 3}, {1, 0}, {1, 1}},
                  .island = 0,
                  .made_by = "aceso"}};
  file.planner = "whole-cluster";
  file.planner_options = {{"node_order", "listed"}};
  file.result = {
      .islands = {{.id = 0,
                   .name = "T4 x8",
                   .nodes = {0, 1},
                   .spec = testing::TestIsland(2, 4),
                   .reason = "homogeneous"}},
      .plan = plan,
      .evaluation = {.iteration_time_s = 1.25,
                     .stages = {{.busy_s = 1,
                                 .static_bytes = 9,
                                 .weight_bytes = 2,
                                 .gradient_bytes = 3,
                                 .optimizer_bytes = 4},
                                {.busy_s = 0.5}},
                     .violations = {{1, "does not fit in memory", 1e9}}},
      .unused_islands = {{0, "slow", 2.5}},
      .runners_up = {{{0}, 3, 8, 1.5}},
      .lower_bound_s = 1.2,
      .certificate = Certificate{.asked_s = 1.1, .any_plan_s = 0.75},
      .band =
          PredictionBand{
              .time = {0.9, 1.2}, .memory = {0.95, 1.1}, .tie = 1.05},
      .closed_form_s = 1.24,
      .stats = {.pairs = 12, .search_steps = int64_t{1} << 40},
      .notes = {"a note"}};
  return file;
}

TEST(PlanFileTest, SurvivesTheRoundTrip) {
  const PlanFile file = ExampleFile();
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
  ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
  EXPECT_EQ(decoded.constraints, file.constraints);
  EXPECT_EQ(decoded.planner, "whole-cluster");
  EXPECT_EQ(decoded.planner_options, file.planner_options);

  EXPECT_EQ(decoded.result.plan, file.result.plan);
  EXPECT_EQ(decoded.model.layers, file.model.layers);
  EXPECT_EQ(decoded.training, file.training);
  EXPECT_EQ(decoded.cluster->links, file.cluster->links);
  EXPECT_EQ(decoded.provenance, file.provenance);
  // Compares as text, because some parts have no operator==.
  EXPECT_EQ(*PlanFileToJson(decoded), text);
}

// Rows of links are written apart from the rest, which changes no byte. Texts
// may look like the place where the rows belong.
TEST(PlanFileTest, IsTheJsonOfItsMessage) {
  PlanFile file = ExampleFile();
  const std::string like_links = "\"cluster\":{\"links\":[]";
  file.cluster = TestCluster({{"a", 2, 4, TestDevice("A")},
                              {like_links, 1, 8, TestDevice("B")},
                              {"c", 3, 2, TestDevice("C")}});
  file.cluster.MakeOwn().name = like_links;
  ASSERT_OK_AND_ASSIGN(const std::string compact,
                       MessageToJson(ToProto(file), DefaultValues::kWrite));
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
  EXPECT_EQ(text, LayOutJson(compact));
}

TEST(PlanFileTest, KindsOfMemoryAndRunnersUpSurviveTheRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(ExampleFile()));
  ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
  const StageEvaluation& stage = decoded.result.evaluation.stages[0];
  EXPECT_EQ(stage.weight_bytes, 2);
  EXPECT_EQ(stage.gradient_bytes, 3);
  EXPECT_EQ(stage.optimizer_bytes, 4);
  EXPECT_EQ(decoded.result.runners_up, ExampleFile().result.runners_up);
}

TEST(PlanFileTest, SeveralPipelinesSurviveTheRoundTrip) {
  PlanFile file = ExampleFile();
  PipelinePlan pipeline = *file.result.plan;
  pipeline.warm_up_passes = {3, 1};
  file.result.plan.reset();
  file.result.replicated_plan = ReplicatedPlan{
      .pipelines =
          {{.plan = pipeline, .num_microbatches = 5, .state_fraction = 0.75},
           {.plan = pipeline, .num_microbatches = 3, .state_fraction = 0.25}},
      .sync = ReplicaSync::kZero1};
  file.result.replicated_evaluation = {
      .iteration_time_s = 2.5,
      .samples_per_s = 3,
      .tokens_per_s = 4,
      .model_flops_utilization = 0.5,
      .bubble_fraction = 0.25,
      .replica_sync_start_s = 1,
      .replica_sync_end_s = 2,
      .exposed_replica_sync_s = 0.5,
      .pipelines = {file.result.evaluation, {}}};
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
  ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
  EXPECT_EQ(decoded.result.replicated_plan, file.result.replicated_plan);
  EXPECT_FALSE(decoded.result.plan.has_value());
  EXPECT_EQ(decoded.result.replicated_evaluation.pipelines.size(), 2u);
  EXPECT_EQ(*PlanFileToJson(decoded), text);
}

// The first stage of the example as two routed groups.
PlanFile MixedFile() {
  PlanFile file = ExampleFile();
  PlacedStage& stage = file.result.plan->stages[0];
  stage.plan.parallelism = {};
  stage.mixed = {
      .sharing = StageSharing::kRouted,
      .groups = {{.parallelism = {.tp_degree = 2, .zero_stage = 1}, .share = 5},
                 {.parallelism = {.dp_degree = 2}, .share = 3}}};
  file.result.evaluation.stages[0].replicas = {{.forward_s = 1, .in_flight = 2},
                                               {.forward_s = 3}};
  return file;
}

TEST(PlanFileTest, MixedStagesSurviveTheRoundTrip) {
  const PlanFile file = MixedFile();
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
  EXPECT_THAT(text, HasSubstr("\"sharing\": \"routed\""));
  ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
  EXPECT_EQ(decoded.result.plan, file.result.plan);
  const std::vector<StageEvaluation>& groups =
      decoded.result.evaluation.stages[0].replicas;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].in_flight, 2);
  EXPECT_EQ(groups[1].forward_s, 3);
  EXPECT_EQ(*PlanFileToJson(decoded), text);
}

TEST(PlanFileTest, BadGroupsAreNamed) {
  const std::string text = *PlanFileToJson(MixedFile());
  const auto error_of = [&](const char* from, const char* to) {
    return PlanFileFromJson(absl::StrReplaceAll(text, {{from, to}}), "f")
        .status();
  };
  EXPECT_THAT(error_of("\"sharing\": \"routed\"", "\"sharing\": \"x\""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: plan.stages[0].mixed.sharing: \"x\"; "
                                 "expected lock-step or routed")));
  EXPECT_THAT(error_of("\"share\": 3", "\"share\": 0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: plan.stages[0].mixed.groups[1].share: 0; "
                                 "expected")));
}

TEST(PlanFileTest, OnePipelineIsWrittenWithoutTheFieldsOfSeveral) {
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(ExampleFile()));
  EXPECT_THAT(text, Not(HasSubstr("mixed")));
  EXPECT_THAT(text, Not(HasSubstr("\"replicas\"")));
  EXPECT_THAT(text, Not(HasSubstr("replicated")));
  EXPECT_THAT(text, Not(HasSubstr("warm_up")));
}

TEST(PlanFileTest, NoPlanSurvivesTheRoundTrip) {
  PlanFile file = ExampleFile();
  file.result.plan.reset();
  file.result.infeasible = {"does not fit in memory", 3e9};
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
  ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
  EXPECT_FALSE(decoded.result.plan.has_value());
  EXPECT_EQ(decoded.result.infeasible, file.result.infeasible);
}

TEST(PlanFileTest, TheUsualScheduleIsNotWritten) {
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(ExampleFile()));
  EXPECT_THAT(text, Not(HasSubstr("schedule")));
  EXPECT_THAT(text, Not(HasSubstr("virtual_stages")));
}

TEST(PlanFileTest, OtherSchedulesSurviveTheRoundTrip) {
  PlanFile file = ExampleFile();
  for (const PipelineSchedule schedule : kPipelineSchedules) {
    file.result.plan->schedule = schedule;
    ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
    ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
    EXPECT_EQ(decoded.result.plan, file.result.plan);
  }
  file.result.plan->schedule = PipelineSchedule::kInterleaved;
  file.result.plan->virtual_stages = 2;
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(file));
  EXPECT_THAT(text, HasSubstr("\"schedule\": \"interleaved\""));
  EXPECT_THAT(text, HasSubstr("\"virtual_stages\": 2"));
  ASSERT_OK_AND_ASSIGN(const PlanFile decoded, PlanFileFromJson(text, "f"));
  EXPECT_EQ(decoded.result.plan, file.result.plan);
}

TEST(PlanFileTest, ReadsWellToPeople) {
  ASSERT_OK_AND_ASSIGN(const std::string text, PlanFileToJson(ExampleFile()));
  EXPECT_THAT(text, StartsWith("{\n  \"format_version\": \"tangram.plan/v1\""));
  EXPECT_THAT(text, HasSubstr("\"precision\": \"FP16\""));
  EXPECT_THAT(text, HasSubstr(R"({"layer_type": 1, "count": 4})"));
  EXPECT_THAT(
      text, HasSubstr(R"("gpus": [{"node": "t4-0", "first": 0, "count": 4}])"));
  EXPECT_THAT(
      text, HasSubstr(R"("end": {"layer": 3, "op": 5, "before": "mlp_norm"})"));
  EXPECT_THAT(
      text, HasSubstr(R"("operators": ["qkv_projection", "attention_core"])"));
}

absl::Status StatusOfEdited(const char* from, const std::string& to) {
  const std::string text = *PlanFileToJson(ExampleFile());
  EXPECT_THAT(text, HasSubstr(from));
  return PlanFileFromJson(absl::StrReplaceAll(text, {{from, to}}), "plan.json")
      .status();
}

TEST(PlanFileTest, TruncatedTextIsRefusedWithItsOffset) {
  const std::string text = *PlanFileToJson(ExampleFile());
  for (size_t size = 0; size + 2 < text.size(); size += 97) {
    EXPECT_THAT(PlanFileFromJson(text.substr(0, size), "plan.json"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith("plan.json: not valid JSON at offset ")));
  }
}

TEST(PlanFileTest, NewerFilesAreRefusedByTheirVersion) {
  const std::string text = *PlanFileToJson(ExampleFile());
  const std::string newer = absl::StrReplaceAll(
      text, {{"tangram.plan/v1\"", "tangram.plan/v9\", \"new_field\": 3"}});
  EXPECT_THAT(PlanFileFromJson(newer, "plan.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "plan.json: format_version: \"tangram.plan/v9\"; "
                       "expected \"tangram.plan/v1\""));
}

TEST(PlanFileTest, ForeignFilesAreRefused) {
  EXPECT_THAT(PlanFileFromJson(R"({"hidden_size": 4096})", "config.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("config.json: format_version: \"\"")));
  for (const char* text : {"null", " []", "7"}) {
    EXPECT_THAT(PlanFileFromJson(text, "f.json"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(StartsWith("f.json: content: "),
                               HasSubstr("expected a JSON object of format "
                                         "tangram.plan/v1"))));
  }
}

TEST(PlanFileTest, UnknownFieldsAreRefused) {
  EXPECT_THAT(
      StatusOfEdited("\"tp_degree\": 2", "\"tensor_degree\": 2"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(StartsWith("plan.json: "), HasSubstr("tensor_degree"))));
}

TEST(PlanFileTest, BadValuesAreRefusedByFieldPath) {
  EXPECT_THAT(
      StatusOfEdited("\"tp_degree\": 2",
                     "\"tp_degree\": 2, \"tp_y_degree\": 0"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "plan.json: plan.stages[0].plan.parallelism.tp_y_degree: 0; "
               "expected a positive integer"));
  EXPECT_THAT(
      StatusOfEdited("\"tp_degree\": 2",
                     "\"tp_degree\": 2, \"zero_degree\": 0"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "plan.json: plan.stages[0].plan.parallelism.zero_degree: 0; "
               "expected a positive integer"));
  EXPECT_THAT(StatusOfEdited("\"tp_degree\": 2", "\"tp_degree\": 0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "plan.json: plan.stages[0].plan.parallelism.tp_degree: "
                       "0; expected a positive integer"));
  EXPECT_THAT(StatusOfEdited("{\"node\": \"t4-0\"", "{\"node\": \"t5-0\""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "plan.json: plan.stages[0].gpus[0].node: \"t5-0\"; "
                       "expected a node of the cluster"));
  EXPECT_THAT(
      StatusOfEdited("\"latency_s\": 0", "\"latency_s\": \"NaN\""),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("cluster.nodes[0].intra_node.latency_s: nan")));
}

TEST(PlanFileTest, SchedulesThatDoNotExistAreRefused) {
  const std::string usual = "\"pipeline_microbatch_size\": 4";
  EXPECT_THAT(StatusOfEdited(usual.c_str(), usual + ", \"schedule\": \"1f1b\""),
              testing::IsOk());
  EXPECT_THAT(
      StatusOfEdited(usual.c_str(), usual + ", \"schedule\": \"dualpipe\""),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "plan.json: plan.schedule: \"dualpipe\"; expected gpipe or 1f1b "
               "or interleaved or zb-h1"));
  EXPECT_THAT(StatusOfEdited(usual.c_str(), usual + ", \"virtual_stages\": 0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "plan.json: plan.virtual_stages: 0; expected a positive "
                       "integer"));
}

TEST(PlanFileTest, AFileWithoutAnAnswerIsRefused) {
  PlanFile file = ExampleFile();
  file.result.plan.reset();
  EXPECT_THAT(PlanFileFromJson(*PlanFileToJson(file), "plan.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "plan.json: plan: missing; expected either plan or "
                       "infeasible, or replicated_plan alone"));
}

}  // namespace
}  // namespace tangram
