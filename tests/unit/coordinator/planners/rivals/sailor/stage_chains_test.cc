#include "coordinator/planners/rivals/sailor/stage_chains.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/planners/rivals/sailor/test_input.h"

namespace tangram::sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Four GPUs of type A, with tp 1 and 2. Two GPUs take `pass_s` for a layer.
Input TwoDegrees(double pass_s) {
  Input input = TestInput(2, {4}, 4);
  AddConstantPaths(10, {1, 2}, input);
  input.profiles[{0, 2, 1}].layers.assign(
      2, {.pass_s = pass_s, .state_bytes = 0.5e9, .activation_bytes = 0.5e9});
  return input;
}

// The degrees of the first stage of all pipelines of `stages` stages.
std::vector<int> FirstDegrees(const Input& input, int stages, int type = 0,
                              const Rules& rules = {}) {
  const PathTable paths(input);
  const StageChains chains(input, rules, paths, /*samples=*/1,
                           /*most_stages=*/2);
  std::vector<int> degrees;
  for (const int first : chains.First(stages)) {
    degrees.push_back(chains.stage(first).types[type].tp);
  }
  return degrees;
}

TEST(StageChainsTest, TakesMoreGpusIfTheyPay) {
  EXPECT_THAT(FirstDegrees(TwoDegrees(0.6), 1), UnorderedElementsAre(1, 2));
  EXPECT_THAT(FirstDegrees(TwoDegrees(0.7), 1), ElementsAre(1));
}

TEST(StageChainsTest, TakesAsManyGpusAsMemoryNeeds) {
  Input input = TwoDegrees(0.9);
  input.types[0].memory_bytes = 3.5e9;  // Two layers need 4 GB, or twice 2 GB.
  EXPECT_THAT(FirstDegrees(input, 1), ElementsAre(2));
  // One layer and two microbatches: 3 GB.
  EXPECT_THAT(FirstDegrees(input, 2), ElementsAre(1));
  input.types[0].memory_bytes = 1.9e9;
  EXPECT_THAT(FirstDegrees(input, 1), IsEmpty());
}

TEST(StageChainsTest, CountsReservedAndTransientBytes) {
  Input input = TestInput(1, {1}, 1);
  input.types[0].memory_bytes = 2.5e9;
  EXPECT_THAT(FirstDegrees(input, 1), ElementsAre(1));
  input.profiles[{0, 1, 1}].reserved_bytes = 0.6e9;
  EXPECT_THAT(FirstDegrees(input, 1), IsEmpty());
  input.profiles[{0, 1, 1}].reserved_bytes = 0;
  input.profiles[{0, 1, 1}].layers[0].transient_bytes = 0.6e9;
  EXPECT_THAT(FirstDegrees(input, 1), IsEmpty());
}

// The reserve of more GPUs may be larger.
TEST(StageChainsTest, LooksTwiceAtTheMemoryOfADegreeThatPays) {
  Input input = TwoDegrees(0.5);
  input.types[0].memory_bytes = 4e9;
  input.profiles[{0, 2, 1}].reserved_bytes = 3e9;
  EXPECT_THAT(FirstDegrees(input, 1), ElementsAre(1));
  EXPECT_THAT(FirstDegrees(input, 1, 0, {.trusts_tp_memory = true}),
              UnorderedElementsAre(1, 2));
}

TEST(StageChainsTest, UpstreamHasTheLeastDegreeForTheFirstOfSeveralTypes) {
  Input input = TwoDegrees(0.5);
  const Rules rules = UpstreamRules();
  EXPECT_THAT(FirstDegrees(input, 1, 0, rules), ElementsAre(2));
  input.types.push_back({.name = "B", .memory_bytes = 100e9});
  input.zones[0].gpus.push_back(4);
  for (const int tp : {1, 2}) {
    input.profiles[{1, tp, 1}] = input.profiles[{0, tp, 1}];
  }
  AddConstantPaths(10, {1, 2}, input);
  EXPECT_THAT(FirstDegrees(input, 1, 0, rules), ElementsAre(1));
  EXPECT_THAT(FirstDegrees(input, 1, 1, rules), ElementsAre(2));
}

TEST(StageChainsTest, LeavesOutDegreesWithoutFigures) {
  Input input = TwoDegrees(0.5);
  input.profiles.erase({0, 1, 1});
  EXPECT_THAT(FirstDegrees(input, 1), ElementsAre(2));
  input.profiles.erase({0, 2, 1});
  EXPECT_THAT(FirstDegrees(input, 1), IsEmpty());
}

TEST(StageChainsTest, PipelinesShareTheirLastStages) {
  const Input input = TestInput(4, {4}, 4);
  const PathTable paths(input);
  const StageChains chains(input, {}, paths, /*samples=*/1,
                           /*most_stages=*/4);
  // 4; 2+2; 1+1+2; 1+1+1+1. The last stages 2 are the same, and none else.
  const auto behind = [&](int index, int steps) {
    for (; steps > 0; --steps) index = chains.stage(index).next;
    return index;
  };
  ASSERT_THAT(chains.First(2), SizeIs(1));
  EXPECT_EQ(behind(chains.First(2)[0], 1), behind(chains.First(3)[0], 2));
  EXPECT_EQ(chains.num_chain_stages(), 1 + 2 + 2 + 4);
}

}  // namespace
}  // namespace tangram::sailor
