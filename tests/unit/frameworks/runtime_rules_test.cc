#include "frameworks/runtime_rules.h"

#include <set>
#include <string>
#include <utility>

#include "frameworks/export_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

const Framework& Rules(absl::string_view name) {
  return **FindFramework(PlanningRuntimes(), kRuntimeField, name);
}

TEST(RuntimeRulesTest, UnknownNamesListTheRuntimes) {
  EXPECT_THAT(FindFramework(PlanningRuntimes(), kRuntimeField, "deepspeed"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("constraints.runtime: deepspeed; expected one "
                                 "of flagscale, aceso, megatron")));
}

TEST(RuntimeRulesTest, DefaultParallelizersSuitTheRuntime) {
  const ModelSpec dense = testing::TestModel(2);
  const ModelSpec experts = testing::TestMoeModel(2);
  EXPECT_EQ(DefaultParallelizers(dense, &Rules("aceso")), "aceso");
  EXPECT_EQ(DefaultParallelizers(dense, &Rules("galvatron")),
            "galvatron,uniform");
  EXPECT_EQ(DefaultParallelizers(dense, nullptr), "aceso");
  EXPECT_EQ(DefaultParallelizers(experts, nullptr), "uniform");
}

// Two islands: 4 GPUs in one node, and 2 nodes of 2.
std::vector<IslandSpec> FourAndTwoByTwo() {
  return {testing::TestIsland(1, 4), testing::TestIsland(2, 2)};
}

TEST(VariantsTest, OneMeshHasAllDegreesThatFitSomeIsland) {
  std::set<std::pair<int, int>> degrees;
  for (const RuntimeVariant& variant :
       VariantsOf(Rules("megatron"), testing::Gpt32Layers(),
                  testing::TestTraining(32), FourAndTwoByTwo(), {})) {
    degrees.insert({variant.stages.tp_degree, variant.stages.dp_degree});
    EXPECT_TRUE(variant.ends.none());
  }
  // 1, 2 and 4 GPUs, tp inside a node.
  EXPECT_EQ(degrees, (std::set<std::pair<int, int>>{
                         {1, 1}, {1, 2}, {2, 1}, {1, 4}, {2, 2}, {4, 1}}));
}

TEST(VariantsTest, DegreesThatAreAskedForAreAmongThem) {
  std::set<int> dp;
  for (const RuntimeVariant& variant : VariantsOf(
           Rules("sailor"), testing::Gpt32Layers(), testing::TestTraining(30),
           {testing::TestIsland(1, 6)}, {3})) {
    dp.insert(variant.stages.dp_degree);
  }
  // 1, 2, 3 and 6 GPUs with tp 1, 2 or 3; all divide the 30 sequences.
  EXPECT_EQ(dp, (std::set<int>{1, 2, 3, 6}));
}

TEST(VariantsTest, TiedEmbeddingsFixTheEndsOfThePipeline) {
  ModelSpec model = testing::Gpt32Layers();
  const auto variants = [&] {
    // Sequences of 512 and at most 4 GPUs: cp 1, 2 or 4.
    return VariantsOf(Rules("flagscale"), model, testing::TestTraining(32),
                      FourAndTwoByTwo(), {});
  };
  EXPECT_THAT(variants(), SizeIs(3));
  model.layers.back().tied_embeddings = true;
  EXPECT_THAT(variants(), SizeIs(3 * 3));  // tp 1, 2 or 4.
  for (const RuntimeVariant& variant : variants()) {
    EXPECT_GT(variant.ends.tp_degree, 0);
    EXPECT_EQ(variant.stages.tp_degree, 0);
  }
}

TEST(FitPlanTest, WhatIsRunIsExportedWithoutLoss) {
  PlannedTraining planned = testing::TwoIslands();
  for (PlacedStage& stage : planned.plan.stages) {
    stage.plan.parallelism.zero_stage = 2;  // FlagScale supports 1.
  }
  ASSERT_OK_AND_ASSIGN(planned.plan, FitPlan(Rules("flagscale"), planned));
  EXPECT_EQ(planned.plan.stages[0].plan.parallelism.zero_stage, 1);
  ASSERT_OK_AND_ASSIGN(const FrameworkExport result,
                       ExportPlan("flagscale", planned));
  EXPECT_THAT(result.losses, IsEmpty());
}

TEST(FitPlanTest, RefusalsAreTheExports) {
  EXPECT_THAT(
      FitPlan(Rules("sailor"), testing::TwoIslands()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("sailor: stages[1].plan.parallelism.dp_degree")));
}

// tp 4 and tp 2: Galvatron gives embedding and head one tp.
TEST(FitPlanTest, LossesThatStayAreRefusals) {
  EXPECT_THAT(FitPlan(Rules("galvatron"), testing::TwoIslands()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("one for embedding and head")));
}

}  // namespace
}  // namespace tangram
