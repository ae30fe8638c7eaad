#include "frameworks/replica_pipelines.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "frameworks/rank_order.h"
#include "tests/unit/frameworks/two_islands.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeGpus;
using testing::OneDp;
using testing::StatusIs;
using testing::TwoIslands;

// 8 T4 and 8 V100, tp 4 and dp 2 in both stages; 32 microbatches of 4.
TEST(ReplicaPipelinesTest, EachReplicaOfAllStagesIsAPipeline) {
  const PlannedPipelines planned = OnePipeline(OneDp());
  const std::vector<ReplicaPipeline> pipelines =
      ReplicaPipelinesOf(planned.model, planned.plan);
  ASSERT_EQ(pipelines.size(), 2u);
  for (const ReplicaPipeline& pipeline : pipelines) {
    EXPECT_EQ(pipeline.microbatch_size, 2);
    EXPECT_EQ(pipeline.num_microbatches, 32);
    EXPECT_EQ(pipeline.samples(), 64);
    ASSERT_EQ(pipeline.stages.size(), 2u);
    EXPECT_EQ(pipeline.stages[0].num_layers, 12);
    EXPECT_EQ(pipeline.stages[1].num_layers, 20);
  }
  EXPECT_EQ(pipelines[1].stages[0].gpus, NodeGpus(1, 4));
  EXPECT_EQ(pipelines[1].stages[1].gpus, NodeGpus(2, 4, 4));
  EXPECT_TRUE(HaveOneTpPerLayer(pipelines));
}

// Cuts may differ, as long as each layer has one tp.
TEST(ReplicaPipelinesTest, TpIsComparedByLayer) {
  std::vector<ReplicaPipeline> pipelines(2);
  pipelines[0].stages = {{.num_layers = 3, .gpus = NodeGpus(0, 2)},
                         {.num_layers = 1, .gpus = NodeGpus(0, 1, 2)}};
  pipelines[1].stages = {{.num_layers = 1, .gpus = NodeGpus(1, 2)},
                         {.num_layers = 2, .gpus = NodeGpus(1, 2, 2)},
                         {.num_layers = 1, .gpus = NodeGpus(2, 1)}};
  EXPECT_TRUE(HaveOneTpPerLayer(pipelines));
  pipelines[1].stages[1].gpus = NodeGpus(1, 1, 2);
  EXPECT_FALSE(HaveOneTpPerLayer(pipelines));
}

TEST(ReplicaPipelinesTest, FieldsOfTheOnlyPipelineHaveNoPrefix) {
  PlannedPipelines planned = OnePipeline(TwoIslands());
  EXPECT_THAT(PlanPrefix(planned.plan, 0), IsEmpty());
  Obstacles one;
  RequireWholePipelines("", planned.plan, one);
  EXPECT_THAT(one.AsStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "stages[1].plan.parallelism.dp_degree: 4; expected 2 as "
                       "in the first stage: replicas are whole pipelines"));
  planned.plan.pipelines.push_back(planned.plan.pipelines.front());
  Obstacles two;
  RequireWholePipelines("", planned.plan, two);
  EXPECT_THAT(two.AsStatus().message(),
              HasSubstr("pipelines[0].plan.stages[1].plan.parallelism"));
}

// Each host once, though stages come back to it.
TEST(ReplicaPipelinesTest, RanksAreNumberedHostByHost) {
  const PlannedPipelines planned = OnePipeline(OneDp());
  const std::vector<ReplicaPipeline> pipelines =
      ReplicaPipelinesOf(planned.model, planned.plan);
  const std::vector<RankedHost> hosts =
      HostsInOrderOfUse(planned.cluster, GpusOf(pipelines));
  std::vector<int> nodes;
  for (const RankedHost& host : hosts) nodes.push_back(host.node);
  EXPECT_THAT(nodes, ElementsAre(0, 2, 1));
  const std::map<GpuId, int> ranks = RanksOn(hosts);
  EXPECT_EQ(ranks.size(), 16u);
  EXPECT_EQ(ranks.at({2, 0}), 4);   // After the 4 of node 0.
  EXPECT_EQ(ranks.at({2, 7}), 11);  // In the second pipeline.
  EXPECT_EQ(ranks.at({1, 0}), 12);
}

}  // namespace
}  // namespace tangram
