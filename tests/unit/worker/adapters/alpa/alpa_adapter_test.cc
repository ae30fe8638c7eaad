#include "worker/adapters/alpa/alpa_adapter.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

TEST(AlpaAdapterTest, SearchesWhatAlpaSearches) {
  EXPECT_EQ(CreateAlpaParallelizer()->features(),
            (ParallelizerFeatures{.data_parallel = true,
                                  .pipeline_parallel = true,
                                  .tensor_parallel = true,
                                  .expert_parallel = true,
                                  .moe_models = true}));
}

// If every GPU held them whole, 6 · 8 experts of 8 · 1024² parameters at 16
// bytes would take 6.4 GB.
TEST(AlpaAdapterTest, SplitsExpertsThatDoNotFitWhole) {
  const ModelSpec model = testing::TestMoeModel(6);
  const ModelSlice slice = MakeSlice({1, 7}, {&model.layers[1], 6});
  IslandSpec island = testing::TestIsland(1, 8);
  island.device.memory_bytes = 4e9;

  ASSERT_OK_AND_ASSIGN(const SlicePlanSet answer,
                       CreateAlpaParallelizer()->Parallelize(
                           slice, island,
                           {.training = testing::TestTraining(),
                            .pipeline_microbatch_size = 8}));

  EXPECT_TRUE(std::any_of(
      answer.plans.begin(), answer.plans.end(), [](const SlicePlan& plan) {
        return std::any_of(plan.stages.begin(), plan.stages.end(),
                           [](const SliceStage& stage) {
                             return stage.plan.parallelism.ep_degree > 1;
                           });
      }));
}

}  // namespace
}  // namespace tangram
