// Properties of plans under constraints, over small clusters and all adapters.

#include <algorithm>
#include <string>
#include <vector>

#include "formats/config/device_catalogue.h"
#include "frameworks/export_plan.h"
#include "frameworks/runtime_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PlanLocally;
using testing::TestGroup;
using testing::TestRequest;

TestGroup Group(const std::string& name, const std::string& type, int num_nodes,
                int gpus_per_node) {
  return {.name = name,
          .num_nodes = num_nodes,
          .gpus_per_node = gpus_per_node,
          .device = FindDevice(type)->device};
}

// Returns two groups of unlike GPUs, both fast enough to be used.
std::vector<TestGroup> TwoGroups() {
  return {Group("a", "V100-16", 2, 4), Group("b", "A100-40", 1, 4)};
}

// A plan for more may take longer by half a per cent, as searches are bounded.
constexpr double kLeastRatio = 0.995;

class ConstraintsPropertyTest : public ::testing::TestWithParam<std::string> {
 protected:
  PlanResult Plan(const PlanRequest& request) {
    auto result = PlanLocally(request, GetParam());
    EXPECT_THAT(result, testing::IsOk());
    return *std::move(result);
  }
  PlanResult PlanWithin(const PlanConstraints& constraints) {
    PlanRequest request = TestRequest(TwoGroups());
    request.constraints = constraints;
    return Plan(request);
  }
};

TEST_P(ConstraintsPropertyTest, DegreesAreAsRequested) {
  for (const int degree : {1, 2, 4}) {
    SCOPED_TRACE(::testing::Message() << degree);
    const PlanResult tp = PlanWithin({.tp_degrees = {{"", degree}}});
    ASSERT_TRUE(tp.plan.has_value());
    for (const PlacedStage& stage : tp.plan->stages) {
      EXPECT_EQ(stage.plan.parallelism.tp_degree, degree);
    }
    const PlanResult dp = PlanWithin({.dp_degrees = {{"", degree}}});
    ASSERT_TRUE(dp.plan.has_value());
    for (const PlacedStage& stage : dp.plan->stages) {
      EXPECT_EQ(stage.plan.parallelism.dp_degree, degree);
    }
  }
}

TEST_P(ConstraintsPropertyTest, DegreesMayDifferByIsland) {
  const PlanResult result = PlanWithin(
      {.tp_degrees = {{"a", 4}, {"b", 2}}, .pins = {{0, 1, "a"}, {6, 7, "b"}}});
  ASSERT_TRUE(result.plan.has_value());
  const std::vector<PlacedStage>& stages = result.plan->stages;
  EXPECT_EQ(stages.front().plan.parallelism.tp_degree, 4);
  EXPECT_EQ(stages.back().plan.parallelism.tp_degree, 2);
}

TEST_P(ConstraintsPropertyTest, StagesStayWithinTheirLimit) {
  for (const int most : {1, 2, 3}) {
    const PlanResult all = PlanWithin({.max_stages = {{"", most}}});
    ASSERT_TRUE(all.plan.has_value());
    EXPECT_LE(all.plan->num_devices(), most);
    const PlanResult each = PlanWithin({.max_stages = {{"a", most}}});
    ASSERT_TRUE(each.plan.has_value());
    // The first stages are the first chunks of all groups.
    EXPECT_LE(
        std::count_if(each.plan->stages.begin(),
                      each.plan->stages.begin() + each.plan->num_devices(),
                      [&](const PlacedStage& stage) {
                        return each.islands[stage.island].spec.device.type ==
                               "V100-16";
                      }),
        most);
  }
}

TEST_P(ConstraintsPropertyTest, PinnedLayersAreOnTheirIsland) {
  for (const char* island : {"a", "b"}) {
    const PlanResult result = PlanWithin({.pins = {{2, 4, island}}});
    ASSERT_TRUE(result.plan.has_value());
    for (const PlacedStage& stage : result.plan->stages) {
      const int end = stage.plan.end.layer + (stage.plan.end.op > 0 ? 1 : 0);
      if (stage.plan.begin.layer > 4 || end <= 2) continue;
      const std::string& type = result.islands[stage.island].spec.device.type;
      EXPECT_EQ(type, island == std::string("a") ? "V100-16" : "A100-40");
    }
  }
}

// An excluded node or island changes the plan as its absence would.
TEST_P(ConstraintsPropertyTest, ExcludingEqualsRemoving) {
  const PlanResult without_nodes = PlanWithin({.exclude_nodes = {"b"}});
  const PlanResult without_island = PlanWithin({.exclude_islands = {"b"}});
  const PlanResult not_there = Plan(TestRequest({Group("a", "V100-16", 2, 4)}));
  EXPECT_EQ(without_nodes.plan->stages, not_there.plan->stages);
  EXPECT_EQ(without_nodes.evaluation.iteration_time_s,
            not_there.evaluation.iteration_time_s);
  EXPECT_EQ(without_island.evaluation.iteration_time_s,
            not_there.evaluation.iteration_time_s);

  const PlanResult one_node = PlanWithin({.exclude_nodes = {"a-1"}});
  const PlanResult smaller = Plan(
      TestRequest({Group("a", "V100-16", 1, 4), Group("b", "A100-40", 1, 4)}));
  EXPECT_EQ(one_node.evaluation.iteration_time_s,
            smaller.evaluation.iteration_time_s);
}

TEST_P(ConstraintsPropertyTest, AConstraintDoesNotImproveThePlan) {
  const double free_s = PlanWithin({}).evaluation.iteration_time_s;
  for (const PlanConstraints& constraints :
       {PlanConstraints{.tp_degrees = {{"", 2}}},
        PlanConstraints{.max_stages = {{"", 2}}},
        PlanConstraints{.pins = {{0, 3, "b"}}}}) {
    const PlanResult result = PlanWithin(constraints);
    ASSERT_TRUE(result.plan.has_value());
    EXPECT_GE(result.evaluation.iteration_time_s, kLeastRatio * free_s);
  }
}

TEST_P(ConstraintsPropertyTest, AnImpossibleConstraintIsNamed) {
  // tp 3 divides neither 32 heads nor nodes of 4 GPUs.
  const PlanResult result =
      PlanWithin({.exclude_islands = {"b"}, .tp_degrees = {{"", 3}}});
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("with all constraints but \"tp 3\" there is a plan"));
}

INSTANTIATE_TEST_SUITE_P(Adapters, ConstraintsPropertyTest,
                         ::testing::Values("aceso", "alpa", "galvatron",
                                           "hypertron", "mist", "uniform"),
                         [](const auto& test) { return test.param; });

double Seconds(const PlanRequest& request, const std::string& parallelizers) {
  const auto result = PlanLocally(request, parallelizers);
  EXPECT_THAT(result, testing::IsOk());
  EXPECT_TRUE(result->plan.has_value());
  return result->evaluation.iteration_time_s;
}

// Three nodes have fewer plans with equal stages than two.
TEST(ConstrainedRuntimeTest, FewerStagesAreNoBetter) {
  PlanRequest request = TestRequest({Group("a", "H100-NVL", 3, 2)});
  request.model = testing::TestMoeModel(2, 4096);
  request.training.sequence_length = 2048;
  request.constraints.runtime = "galvatron";
  const double free_s = Seconds(request, "galvatron,uniform");
  request.constraints.max_stages = {{"", 2}};
  EXPECT_GE(Seconds(request, "galvatron,uniform"), kLeastRatio * free_s);
}

// Islands of one GPU each, in any order, of which a plan may use some.
PlanRequest OneGpuEach(double between_bytes_per_s) {
  PlanRequest request = TestRequest({});
  request.cluster =
      testing::TestCluster({Group("a", "T4", 1, 1), Group("b", "A100-40", 1, 1),
                            Group("c", "V100-16", 1, 1)},
                           between_bytes_per_s);
  request.training.global_batch_size = 6;
  return request;
}

TEST(IslandsOfOneGpuTest, MoreIsNotSlower) {
  PlanRequest request = OneGpuEach(1e9);
  const double free_s = Seconds(request, "uniform");
  EXPECT_GE(free_s, kLeastRatio * Seconds(OneGpuEach(2e9), "uniform"));
  for (const int microbatch : {1, 2, 3, 6}) {
    SCOPED_TRACE(microbatch);
    PlanRequest fixed = request;
    fixed.pipeline_microbatch_size = microbatch;
    EXPECT_GE(Seconds(fixed, "uniform"), kLeastRatio * free_s);
  }
  for (const char* group : {"a", "b", "c"}) {
    SCOPED_TRACE(group);
    PlanRequest without = request;
    without.constraints.exclude_nodes = {group};
    EXPECT_GE(Seconds(without, "uniform"), kLeastRatio * free_s);
  }
  request.constraints.recompute = LayerRecompute::kNone;
  EXPECT_GE(Seconds(request, "uniform"), kLeastRatio * free_s);
  request.constraints.recompute.reset();
  request.constraints.dp_degrees = {{"", 1}};
  EXPECT_GE(Seconds(request, "uniform"), kLeastRatio * free_s);
}

class RuntimePropertyTest : public ::testing::TestWithParam<std::string> {};

// Returns clusters of two and three islands, of one node and of several.
std::vector<std::vector<TestGroup>> Clusters() {
  return {{Group("a", "V100-16", 1, 4), Group("b", "A100-40", 1, 4)},
          {Group("a", "V100-32", 2, 4), Group("b", "A100-40", 1, 2)},
          {Group("a", "T4", 1, 4), Group("b", "V100-16", 1, 8),
           Group("c", "A100-40", 1, 4)}};
}

// Returns GPT with learned positions and tied embeddings, Llama, and a mixture
// of experts. Each target supports some of them.
std::vector<ModelSpec> Models() {
  ModelSpec gpt = testing::TestModel(6, 2048);
  for (LayerSpec& layer : gpt.layers) {
    layer.norm_bias = true;
    layer.linear_bias = true;
    layer.tied_embeddings = true;
  }
  gpt.layers.front().max_position_embeddings = 4096;
  // The dimensions of Llama 7B, the only Llama that FlashFlex supports.
  ModelSpec llama = testing::TestModel(6, 4096);
  for (LayerSpec& layer : llama.layers) {
    layer.gated_mlp = true;
    layer.num_heads = layer.num_kv_heads = 32;
    layer.ffn_hidden_size = 11008;
  }
  return {gpt, llama, testing::TestMoeModel(4, 1024)};
}

TEST_P(RuntimePropertyTest, APlanForARuntimeIsExportedWithoutLoss) {
  const Framework& rules =
      **FindFramework(PlanningRuntimes(), kRuntimeField, GetParam());
  int planned = 0;
  for (const std::vector<TestGroup>& groups : Clusters()) {
    for (const ModelSpec& model : Models()) {
      SCOPED_TRACE(::testing::Message()
                   << groups.size() << " groups, "
                   << model.layers[1].num_experts << " experts");
      PlanRequest request = TestRequest(groups);
      request.model = model;
      request.training.sequence_length = 4096;
      request.training.fused_loss = true;
      // All of these GPUs support it, and all targets but Galvatron, whose
      // attention needs 16 bits.
      request.training.precision =
          GetParam() == "galvatron" ? Precision::kFp16 : Precision::kFp32;
      const std::string parallelizers(model.layers[1].is_moe()
                                          ? rules.moe_parallelizers
                                          : rules.parallelizers);
      request.constraints.runtime = GetParam();
      ASSERT_OK_AND_ASSIGN(const PlanResult result,
                           PlanLocally(request, parallelizers));
      if (!result.plan.has_value()) {
        EXPECT_THAT(result.infeasible->reason, HasSubstr("model.layers["));
        continue;
      }
      ++planned;
      EXPECT_THAT(result.evaluation.violations, IsEmpty());
      const TrainingOptions training =
          result.training.value_or(request.training);
      ASSERT_OK_AND_ASSIGN(const FrameworkExport exported,
                           ExportPlan(rules.name, {.cluster = request.cluster,
                                                   .model = model,
                                                   .training = training,
                                                   .plan = *result.plan}));
      EXPECT_THAT(exported.losses, IsEmpty());

      request.constraints = {};
      request.training = training;
      ASSERT_OK_AND_ASSIGN(const PlanResult any,
                           PlanLocally(request, parallelizers));
      // A plan rounded to what the runtime runs may be slightly better than
      // estimated.
      EXPECT_GE(result.evaluation.iteration_time_s,
                0.98 * any.evaluation.iteration_time_s);
    }
  }
  EXPECT_GE(planned, 3);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimePropertyTest,
                         ::testing::Values("flagscale", "aceso", "megatron",
                                           "galvatron", "sailor", "flashflex",
                                           "torchtitan", "alpa"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tangram
