#include "common/parallelizer/stage_transfer.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

TEST(SecondsToNextStageTest, GrowsWithTheMicrobatchAndBetweenNodes) {
  const IslandSpec island = TestIsland(2, 4);
  const LayerSpec layer = TestModel(1).layers[1];
  ParallelizeOptions options{.training = TestTraining(),
                             .pipeline_microbatch_size = 4};
  const auto seconds = [&](int first_gpu) {
    return SecondsToNextStage(island, options, {first_gpu, 2, 2}, layer);
  };
  const double in_node_s = seconds(0);
  const double between_nodes_s = seconds(2);
  EXPECT_GT(in_node_s, 0);
  EXPECT_GT(between_nodes_s, in_node_s);

  options.pipeline_microbatch_size = 8;
  EXPECT_GT(seconds(0), in_node_s);
}

}  // namespace
}  // namespace tangram
