#include "coordinator/planners/rivals/amp/partition_program.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Stages of equal speed; every cut takes `transfer_s`.
PartitionProblem Equal(const std::vector<double>& layer_s, int num_stages,
                       double transfer_s, int num_microbatches) {
  return {
      .stage_s = std::vector<std::vector<double>>(num_stages, layer_s),
      .transfer_s = std::vector<std::vector<double>>(
          num_stages - 1, std::vector<double>(layer_s.size() + 1, transfer_s)),
      .num_microbatches = num_microbatches};
}

// All bounds of the given number of stages, each with a layer.
void ForAllBounds(int num_stages, int num_layers, std::vector<int> bounds,
                  const std::function<void(const std::vector<int>&)>& call) {
  if (static_cast<int>(bounds.size()) == num_stages) {
    bounds.push_back(num_layers);
    call(bounds);
    return;
  }
  for (int next = bounds.back() + 1; next < num_layers; ++next) {
    std::vector<int> more = bounds;
    more.push_back(next);
    ForAllBounds(num_stages, num_layers, more, call);
  }
}

TEST(PipelineSecondsTest, CountsTheSlowestStageForEveryFurtherMicrobatch) {
  // Stages 1 + 2 and 4, a transfer of 0.5, and two more microbatches of 4.
  EXPECT_DOUBLE_EQ(PipelineSeconds(Equal({1, 2, 4}, 2, 0.5, 3), {0, 2, 3}),
                   7 + 0.5 + 2 * 4);
}

TEST(FastestPartitionTest, BalancesEqualStages) {
  EXPECT_THAT(FastestPartition(Equal({1, 2, 4}, 2, 0.5, 3)),
              ElementsAre(0, 2, 3));
}

TEST(FastestPartitionTest, GivesTheFastStageMoreLayers) {
  PartitionProblem problem = Equal({1, 1, 1, 1}, 2, 0, 10);
  problem.stage_s[0] = {3, 3, 3, 3};
  EXPECT_THAT(FastestPartition(problem), ElementsAre(0, 1, 4));
}

TEST(FastestPartitionTest, CutsWhereTransfersAreShort) {
  PartitionProblem problem = Equal({1, 1, 1}, 2, 9, 1);
  problem.transfer_s[0][2] = 0;
  EXPECT_THAT(FastestPartition(problem), ElementsAre(0, 2, 3));
}

TEST(FastestPartitionTest, HasNoneForMoreStagesThanLayers) {
  EXPECT_THAT(FastestPartition(Equal({1, 1}, 3, 0, 1)), IsEmpty());
  EXPECT_THAT(UpstreamPartition(Equal({1, 1}, 3, 0, 1)), IsEmpty());
}

TEST(FastestPartitionTest, IsAsFastAsTheBestOfAll) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> number(1, 9);
  for (int trial = 0; trial < 300; ++trial) {
    const int layers = 2 + trial % 7;
    const int stages = 1 + trial % std::min(layers, 4);
    PartitionProblem problem =
        Equal(std::vector<double>(layers), stages, 0, 1 + trial % 5);
    for (std::vector<double>& stage : problem.stage_s) {
      for (double& layer_s : stage) layer_s = number(random);
    }
    for (std::vector<double>& stage : problem.transfer_s) {
      for (double& cut_s : stage) cut_s = number(random);
    }
    double best_s = 1e9;
    ForAllBounds(stages, layers, {0}, [&](const std::vector<int>& bounds) {
      best_s = std::min(best_s, PipelineSeconds(problem, bounds));
    });
    EXPECT_DOUBLE_EQ(PipelineSeconds(problem, FastestPartition(problem)),
                     best_s);
  }
}

TEST(UpstreamPartitionTest, BalancesIfTransfersAreFree) {
  // The first cut that balances stays.
  EXPECT_THAT(UpstreamPartition(Equal({1, 1, 1, 1}, 2, 0, 3)),
              ElementsAre(0, 2, 4));
}

TEST(UpstreamPartitionTest, ACutMustWinByTheWholeTransfer) {
  // Cuts after one, two and three layers cost 6, 4 and 6 beside the sum. The
  // second does not win by 3.
  EXPECT_THAT(UpstreamPartition(Equal({1, 1, 1, 1}, 2, 3, 3)),
              ElementsAre(0, 1, 4));
  EXPECT_THAT(FastestPartition(Equal({1, 1, 1, 1}, 2, 3, 3)),
              ElementsAre(0, 2, 4));
}

TEST(EvenPartitionTest, DealsOutBlocksFromTheFront) {
  EXPECT_THAT(EvenPartition(4, 30, 2, 24), ElementsAre(0, 8, 14, 20, 30));
  EXPECT_THAT(EvenPartition(3, 7, 1, 5), ElementsAre(0, 3, 5, 7));
  EXPECT_THAT(EvenPartition(6, 7, 1, 5), IsEmpty());
}

}  // namespace
}  // namespace tangram
