#include "worker/adapters/alpa/alpa_search.h"

#include <set>

#include "common/parallelizer/check_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram::alpa {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::WholeSlice;

IslandSpec IslandOf(int num_nodes, int gpus_per_node, double memory_bytes) {
  IslandSpec island = testing::TestIsland(num_nodes, gpus_per_node);
  island.device.memory_bytes = memory_bytes;
  return island;
}

ParallelizeOptions Options(int microbatch, int trailing_stages = 0) {
  return {.training = testing::TestTraining(64),
          .pipeline_microbatch_size = microbatch,
          .trailing_stages = trailing_stages};
}

TEST(AlpaSearchTest, OneSampleOverASlowNetworkIsPipelined) {
  const SlicePlanSet answer = SearchPipelines(WholeSlice(testing::TestModel(4)),
                                              IslandOf(4, 1, 64e9), Options(1));

  // One sample cannot be split, and tp does not leave a node.
  ASSERT_THAT(answer.plans, Not(IsEmpty()));
  EXPECT_EQ(answer.plans.back().num_stages(), 4);
}

// Nine layers of up to 3.2 GB of state each on eight GPUs of 14 GB.
struct TightQuery {
  ModelSlice slice = WholeSlice(testing::TestModel(7, 4096));
  IslandSpec island = IslandOf(1, 8, 14e9);
  ParallelizeOptions options = {.training = testing::TestTraining(512),
                                .pipeline_microbatch_size = 8};

  TightQuery() { island.device.efficiency = DeviceEfficiency(); }
  SlicePlanSet Answer() const {
    return SearchPipelines(slice, island, options);
  }
};

TEST(AlpaSearchTest, StagesOfOnePlanMayDiffer) {
  const TightQuery query;
  const SlicePlanSet answer = query.Answer();

  EXPECT_THAT(
      CheckSlicePlanSet(answer, query.slice, query.island, query.options),
      testing::IsOk());
  std::set<int> sizes;
  for (const SliceStage& stage : answer.plans.back().stages) {
    sizes.insert(stage.plan.parallelism.num_gpus());
    EXPECT_EQ(stage.plan.parallelism.zero_stage, 0);
    EXPECT_FALSE(stage.plan.parallelism.fsep);
  }
  EXPECT_GT(sizes.size(), 1);
}

TEST(AlpaSearchTest, LaterPassesBearMoreTrailingStages) {
  std::set<int> borne;
  for (const SlicePlan& plan : TightQuery().Answer().plans) {
    borne.insert(plan.max_trailing_stages);
  }

  EXPECT_THAT(borne, Contains(0));
  EXPECT_GT(borne.size(), 2);
}

// A question with more trailing stages, up to the number that an answer covers,
// finds nothing new.
TEST(AlpaSearchTest, CoversWhatItsFirstPassBears) {
  for (const double memory_bytes : {3e9, 4e9, 6e9, 10e9}) {
    const ModelSlice slice = WholeSlice(testing::TestModel(6, 2048));
    const IslandSpec island = IslandOf(1, 8, memory_bytes);
    const SlicePlanSet first = SearchPipelines(slice, island, Options(4));
    for (int trailing = 1;
         trailing <= std::min(20, first.covers_trailing_stages); ++trailing) {
      SCOPED_TRACE(trailing);
      for (const SlicePlan& plan :
           SearchPipelines(slice, island, Options(4, trailing)).plans) {
        EXPECT_THAT(first.plans, Contains(plan));
      }
    }
  }
}

TEST(AlpaSearchTest, SaysHowMuchMemoryIsMissing) {
  // One layer of 12 · 8192² parameters of 16 bytes on one GPU: 12.9 GB, and
  // activations.
  const ModelSpec model = testing::TestModel(1, 8192);
  const ModelSlice slice = MakeSlice({1, 2}, {&model.layers[1], 1});
  const SlicePlanSet answer =
      SearchPipelines(slice, IslandOf(1, 1, 12e9), Options(1));

  EXPECT_THAT(answer.plans, IsEmpty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_GT(answer.infeasible->bytes_short, 0.8e9);
  EXPECT_LT(answer.infeasible->bytes_short, 3e9);
  EXPECT_EQ(answer.covers_trailing_stages, kUnlimitedTrailingStages);
}

// Three samples have no two replicas.
TEST(AlpaSearchTest, LimitsMayLeaveNoStage) {
  const ModelSlice slice = WholeSlice(testing::TestModel(4));
  IslandSpec island = IslandOf(2, 4, 64e9);
  island.limits.dp_degree = 2;
  ParallelizeOptions options = Options(3);
  options.training.global_batch_size = 48;
  const SlicePlanSet answer = SearchPipelines(slice, island, options);
  EXPECT_THAT(answer.plans, IsEmpty());
  EXPECT_THAT(CheckSlicePlanSet(answer, slice, island, options),
              testing::IsOk());
}

TEST(AlpaSearchTest, CountsItsSteps) {
  const SlicePlanSet small = SearchPipelines(WholeSlice(testing::TestModel(2)),
                                             IslandOf(1, 2, 16e9), Options(2));
  const SlicePlanSet large = SearchPipelines(WholeSlice(testing::TestModel(8)),
                                             IslandOf(1, 8, 16e9), Options(2));

  EXPECT_GT(small.search_steps, 0);
  EXPECT_GT(large.search_steps, small.search_steps);
}

}  // namespace
}  // namespace tangram::alpa
