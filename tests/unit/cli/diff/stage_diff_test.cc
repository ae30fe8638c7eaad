#include "cli/diff/stage_diff.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/unit/cli/diff/differences.h"

namespace tangram {
namespace {

using ::tangram::testing::NodeGpus;
using ::tangram::testing::Of;
using ::tangram::testing::StageOn;
using ::tangram::testing::TestCluster;
using ::tangram::testing::TestModel;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr StageParallelism kTp4{.tp_degree = 4};

// A plan whose stages end at layers `ends`, each on a node of four GPUs.
PlanFile Plan(const std::vector<int>& ends) {
  PlanFile file;
  file.cluster = TestCluster({{.name = "n", .num_nodes = 3}});
  file.model = TestModel(4);
  file.result.plan = PipelinePlan{.pipeline_microbatch_size = 4};
  int begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    file.result.plan->stages.push_back(StageOn(
        begin, ends[i], kTp4, NodeGpus(static_cast<int>(i), /*count=*/4)));
    begin = ends[i];
  }
  file.result.evaluation.stages.resize(ends.size());
  return file;
}

struct Part {
  int begin, end, a, b;
  bool operator==(const Part&) const = default;
};

TEST(DiffStagesTest, CutsAtTheBoundariesOfBoth) {
  std::vector<Part> parts;
  for (const StageDifference& part :
       DiffStages(Plan({2, 4, 6}), Plan({3, 4, 6}))) {
    parts.push_back(
        {part.begin.layer, part.end.layer, part.stage_a, part.stage_b});
  }
  // Stages of layers [0, 2), [2, 4), [4, 6) against [0, 3), [3, 4), [4, 6).
  EXPECT_THAT(parts, ElementsAre(Part{0, 2, 0, 0}, Part{2, 3, 1, 0},
                                 Part{3, 4, 1, 1}, Part{4, 6, 2, 2}));
}

TEST(DiffStagesTest, LayersThatMovedRunElsewhere) {
  const auto parts = DiffStages(Plan({2, 6}), Plan({3, 6}));
  ASSERT_EQ(parts.size(), 3);
  EXPECT_THAT(parts[0].differences, IsEmpty());
  EXPECT_THAT(parts[1].differences, ElementsAre(Of("where", "n-1", "n-0")));
  EXPECT_THAT(parts[2].differences, IsEmpty());
}

TEST(DiffStagesTest, NamesEveryDegreeAndFigure) {
  PlanFile b = Plan({6});
  PlacedStage& stage = b.result.plan->stages[0];
  stage.plan.parallelism = {.tp_degree = 1,
                            .cp_degree = 2,
                            .dp_degree = 2,
                            .ep_degree = 2,
                            .fsep = true,
                            .zero_stage = 1,
                            .sequence_parallel = true};
  stage.plan.offload.weights = 0.5;
  b.result.evaluation.stages[0] = {
      .forward_s = 1, .backward_s = 2, .peak_bytes = 3};
  EXPECT_THAT(
      DiffStages(Plan({6}), b)[0].differences,
      ElementsAre(
          Of("tp_degree", 4, 1), Of("cp_degree", 1, 2), Of("dp_degree", 1, 2),
          Of("ep_degree", 1, 2), Of("fsep", false, true),
          Of("zero_stage", int64_t{0}, int64_t{1}),
          Of("sequence_parallel", false, true),
          // 4 samples for one replica, 4 / 2 for each of two.
          Of("microbatch_size", 4, 2), Of("offload", "none", "weights 50 %"),
          Of("microbatch_s", 0.0, 3.0), Of("peak_bytes", 0.0, 3.0)));
}

// Recomputation is compared layer by layer, not run by run.
TEST(DiffStagesTest, ComparesRecomputationLayerByLayer) {
  constexpr OpMask kCore = 1 << 2;
  PlanFile a = Plan({2, 6});
  PlanFile b = Plan({3, 6});
  a.result.plan->stages[1].plan.recompute = {{1, kCore}, {3, kRecomputeNone}};
  b.result.plan->stages[0].plan.recompute = {{2, kRecomputeNone}, {1, kCore}};
  b.result.plan->stages[1].plan.recompute = {{2, kCore}, {1, kRecomputeNone}};
  const auto parts = DiffStages(a, b);
  ASSERT_EQ(parts.size(), 3);
  EXPECT_THAT(parts[0].differences, IsEmpty());
  // Layer 2 recomputes the attention core in both plans, on other nodes.
  EXPECT_THAT(parts[1].differences, ElementsAre(Of("where", "n-1", "n-0")));
  EXPECT_EQ(parts[2].differences.size(), 1);
  EXPECT_EQ(parts[2].differences[0].field, "recompute");
  EXPECT_EQ(parts[2].differences[0].a, DiffValue("none"));
}

TEST(DiffStagesTest, MarksDifferencesWhoseTextsAreEqual) {
  PlanFile b = Plan({6});
  std::swap(b.result.plan->stages[0].gpus[0], b.result.plan->stages[0].gpus[1]);
  EXPECT_THAT(DiffStages(Plan({6}), b)[0].differences,
              ElementsAre(Of("where", "n-0", "n-0 (others)")));
}

}  // namespace
}  // namespace tangram
