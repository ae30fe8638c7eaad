#include "coordinator/planners/rivals/amp/amp_search.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four equal layers of 1 s a sample, on nodes of one GPU each. Links carry one
// unit a second, and no layer sends or reduces anything.
AmpInput InputOf(const std::vector<int>& gpus_of_nodes, int batch) {
  AmpInput input{.cluster = {.inside = {1}, .between = {{1}}},
                 .global_batch_size = batch,
                 .capacity_bytes = {100},
                 .first_block = 1,
                 .num_blocks = 2};
  for (const int gpus : gpus_of_nodes) {
    input.cluster.nodes.push_back({.gpus = gpus});
  }
  for (const int samples : {1, 2}) {
    input.layers[{0, 1, samples}].assign(4, {.pass_s = 1.0 * samples});
  }
  return input;
}

AmpPlan PlanOf(const AmpAnswer& answer, int dp, int samples) {
  for (const AmpPlan& plan : answer.plans) {
    if (plan.dp_degree == dp && plan.samples == samples) return plan;
  }
  ADD_FAILURE() << "no plan of dp " << dp << " and " << samples << " samples";
  return {};
}

TEST(SearchAmpTest, TriesAllDegreesAndSizes) {
  // dp 1 with 1 and 2 of 4 samples, dp 2 with 1 and 2 of 2. Microbatches of 4
  // are not profiled.
  const AmpAnswer answer = SearchAmp(InputOf({1, 1}, 4), {}, nullptr);
  EXPECT_EQ(answer.tried, 4);
  EXPECT_THAT(answer.plans, SizeIs(4));
  EXPECT_THAT(PlanOf(answer, 1, 1).bounds, ElementsAre(0, 2, 4));
  // Four layers once and the slowest stage, of 2 s, for three more.
  EXPECT_DOUBLE_EQ(PlanOf(answer, 1, 1).predicted_s, 4 + 3 * 2);
  EXPECT_DOUBLE_EQ(PlanOf(answer, 2, 1).predicted_s, 4 + 4);
}

TEST(SearchAmpTest, TimesAStageByItsSlowestType) {
  AmpInput input = InputOf({1, 1}, 4);
  input.cluster.nodes[1].type = 1;
  input.capacity_bytes.push_back(100);
  input.layers[{1, 1, 1}].assign(4, {.pass_s = 3});
  const AmpAnswer answer = SearchAmp(input, {}, nullptr);
  EXPECT_THAT(PlanOf(answer, 1, 1).bounds, ElementsAre(0, 3, 4));
  EXPECT_DOUBLE_EQ(PlanOf(answer, 1, 1).predicted_s, 3 + 3 + 3 * 3);
  EXPECT_DOUBLE_EQ(PlanOf(answer, 2, 1).predicted_s, 2 * 4 * 3);
  // On a mean GPU, a layer takes 2 s anywhere.
  const AmpAnswer mean = SearchAmp(input, {.mean_gpu = true}, nullptr);
  EXPECT_THAT(PlanOf(mean, 1, 1).bounds, ElementsAre(0, 2, 4));
  EXPECT_DOUBLE_EQ(PlanOf(mean, 1, 1).predicted_s, 8 + 3 * 4);
}

TEST(SearchAmpTest, ReducesOverTheSlowestLinkOfTheRing) {
  AmpInput input = InputOf({1, 1, 1}, 3);
  for (int n = 0; n < 3; ++n) input.cluster.nodes[n].group = n;
  input.cluster.inside = {1, 1, 1};
  // The link from the first to the second node is the slow one.
  input.cluster.between = {{9, 1, 4}, {1, 9, 4}, {4, 4, 9}};
  for (AmpLayer& layer : input.layers[{0, 1, 1}]) layer.reduced = 3;
  const double compute_s = 4;
  EXPECT_DOUBLE_EQ(PlanOf(SearchAmp(input, {}, nullptr), 3, 1).predicted_s,
                   compute_s + 2.0 * 2 / (3 * 1) * 12);
  EXPECT_DOUBLE_EQ(
      PlanOf(SearchAmp(input, {.last_link_alone = true}, nullptr), 3, 1)
          .predicted_s,
      compute_s + 2.0 * 2 / (3 * 4) * 12);
}

TEST(SearchAmpTest, ATiedHeadIsReducedOnceWithTheEmbedding) {
  AmpInput input = InputOf({1, 1}, 2);
  std::vector<AmpLayer>& layers = input.layers[{0, 1, 1}];
  layers.front().reduced = 5;
  layers.back().reduced = layers.back().copied = 5;
  EXPECT_DOUBLE_EQ(PlanOf(SearchAmp(input, {}, nullptr), 2, 1).predicted_s,
                   4 + 2.0 * 1 / 2 * 5);
}

TEST(SearchAmpTest, DropsPlansWithoutRoom) {
  AmpInput input = InputOf({1, 1}, 4);
  for (auto& [key, layers] : input.layers) {
    for (AmpLayer& layer : layers) {
      layer.state_bytes = 40;
      layer.activation_bytes = 4.0 * key.samples;
      layer.transient_bytes = 3;
    }
  }
  // In two stages, the first holds 2 layers and 2 microbatches of each: 80 + 16
  // + 3 bytes fit, 80 + 32 + 3 do not. On one stage there are 160 + 16 + 3.
  const AmpAnswer answer = SearchAmp(input, {}, nullptr);
  ASSERT_THAT(answer.plans, SizeIs(1));
  EXPECT_EQ(answer.plans[0].samples, 1);
  EXPECT_EQ(answer.tried, 4);
  EXPECT_EQ(answer.over_memory, 3);
  EXPECT_DOUBLE_EQ(answer.least_bytes_short, 15);
  EXPECT_THAT(SearchAmp(input, {.no_memory = true}, nullptr).plans, SizeIs(4));
}

TEST(SearchAmpTest, ATypeWithoutTheDegreeRulesItOut) {
  AmpInput input = InputOf({2, 2}, 1);
  input.cluster.nodes[1].type = 1;
  input.capacity_bytes.push_back(100);
  input.layers[{0, 2, 1}].assign(4, {.pass_s = 1});
  input.layers[{1, 1, 1}].assign(4, {.pass_s = 1});
  const AmpAnswer answer = SearchAmp(input, {}, nullptr);
  ASSERT_THAT(answer.plans, SizeIs(1));
  EXPECT_EQ(answer.plans[0].tp_degree, 1);
  input.layers.erase({1, 1, 1});
  EXPECT_THAT(SearchAmp(input, {}, nullptr).plans, IsEmpty());
}

TEST(SearchAmpTest, TensorParallelGroupsStayInsideNodesOfUnlikeSizes) {
  AmpInput input = InputOf({4, 2}, 1);
  for (const int tp : {2, 4}) {
    input.layers[{0, tp, 1}].assign(4, {.pass_s = 1});
  }
  const AmpAnswer answer = SearchAmp(input, {}, nullptr);
  // tp 2 in three stages; six stages of one GPU are more than four layers.
  ASSERT_THAT(answer.plans, SizeIs(1));
  EXPECT_EQ(answer.plans[0].tp_degree, 2);
  EXPECT_EQ(answer.plans[0].num_stages(), 3);
  EXPECT_EQ(answer.too_deep, 1);
}

TEST(SearchAmpTest, OneMicrobatchHasEvenStagesUpstream) {
  AmpInput input = InputOf({1, 1}, 1);
  input.layers[{0, 1, 1}][0].pass_s = 9;
  input.layers[{0, 1, 1}][1].boundary = 100;
  const AmpDefects even{.even_single_microbatch = true};
  EXPECT_THAT(PlanOf(SearchAmp(input, even, nullptr), 1, 1).bounds,
              ElementsAre(0, 2, 4));
  EXPECT_THAT(PlanOf(SearchAmp(input, {}, nullptr), 1, 1).bounds,
              ::testing::Not(ElementsAre(0, 2, 4)));
}

TEST(SearchAmpTest, ScalesOneSampleUpstream) {
  AmpInput input = InputOf({1}, 2);
  input.layers.erase({0, 1, 2});
  EXPECT_THAT(SearchAmp(input, {}, nullptr).plans, SizeIs(1));
  const AmpAnswer answer =
      SearchAmp(input, {.linear_in_samples = true}, nullptr);
  EXPECT_THAT(answer.plans, SizeIs(2));
  EXPECT_DOUBLE_EQ(PlanOf(answer, 1, 2).predicted_s, 8);
}

TEST(SearchAmpTest, Stops) {
  const AmpAnswer answer =
      SearchAmp(InputOf({1, 1}, 4), {}, [] { return true; });
  EXPECT_TRUE(answer.stopped);
  EXPECT_THAT(answer.plans, IsEmpty());
}

}  // namespace
}  // namespace tangram
