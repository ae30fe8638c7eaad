#include "worker/adapters/galvatron/galvatron_search.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram::galvatron {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;
using ::tangram::testing::WholeSlice;

ParallelizeOptions Options(int microbatch, int trailing_stages = 0) {
  return {.training = TestTraining(32),
          .pipeline_microbatch_size = microbatch,
          .trailing_stages = trailing_stages};
}

// A sample of 64 Ki tokens: replicas do not help, and attention is most of the
// work.
TEST(SearchGalvatronTest, SplitsLongSequences) {
  ParallelizeOptions options = Options(1);
  options.training.sequence_length = 65536;

  const SlicePlanSet answer =
      SearchGalvatron(WholeSlice(TestModel(2, 256)), TestIsland(1, 8), options);

  EXPECT_TRUE(absl::c_any_of(answer.plans, [](const SlicePlan& plan) {
    return absl::c_any_of(plan.stages, [](const SliceStage& stage) {
      return stage.plan.parallelism.cp_degree > 1;
    });
  }));
}

TEST(SearchGalvatronTest, AnswersEveryNumberOfTrailingStagesAtOnce) {
  const ModelSlice slice = WholeSlice(TestModel(8));
  IslandSpec island = TestIsland(1, 4);
  island.device.memory_bytes = 1e9;

  const SlicePlanSet answer = SearchGalvatron(slice, island, Options(4));

  EXPECT_EQ(answer.covers_trailing_stages, kUnlimitedTrailingStages);
  const auto fastest_with = [&](int trailing_stages) {
    double slowest_s = 1e9;
    for (const SlicePlan& plan : answer.plans) {
      if (plan.max_trailing_stages < trailing_stages) continue;
      slowest_s = std::min(slowest_s, plan.slowest_stage_s());
    }
    return slowest_s;
  };
  EXPECT_LT(fastest_with(0), fastest_with(3));
  EXPECT_LT(fastest_with(3), 1e9);
}

TEST(SearchGalvatronTest, CountsStagesEstimated) {
  EXPECT_GT(
      SearchGalvatron(WholeSlice(TestModel(2)), TestIsland(1, 1), Options(4))
          .search_steps,
      0);
}

}  // namespace
}  // namespace tangram::galvatron
