#include "coordinator/planners/rivals/profiles/layer_profiles.h"

#include <vector>

#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::TestCluster;
using testing::TestDevice;

TEST(LayerProfilesTest, TypesAreDevicesInTheOrderOfTheirNodes) {
  DeviceSpec small = TestDevice("X");
  small.memory_bytes = 8e9;
  const Cluster cluster =
      TestCluster({{.name = "a", .device = TestDevice("X")},
                   {.name = "b", .gpus_per_node = 2, .device = small},
                   {.name = "c", .gpus_per_node = 8, .device = small}});
  const LayerProfiles profiles = ProfileLayers(testing::TestModel(2), cluster,
                                               testing::TestTraining(), {});
  ASSERT_EQ(profiles.types.size(), 2u);
  EXPECT_EQ(profiles.types[0].name, "X");
  EXPECT_EQ(profiles.types[1].name, "X-2");
  EXPECT_EQ(profiles.types[1].memory_bytes, 8e9);
  EXPECT_EQ(profiles.types[1].most_gpus_per_node, 8);
  EXPECT_THAT(profiles.type_of_node, ElementsAre(0, 1, 1));
  EXPECT_EQ(profiles.Find({0, 8, 1}), nullptr);
  EXPECT_NE(profiles.Find({1, 8, 1}), nullptr);
  EXPECT_EQ(profiles.Find({1, 8, 3}), nullptr);
  EXPECT_EQ(profiles.boundary_bytes_per_sample, 512 * 1024 * 2);
}

// A stage of the plan evaluator is the sum of its layers.
TEST(LayerProfilesTest, LayersAddUpToStages) {
  const Cluster cluster = TestCluster({{.name = "a", .device = TestDevice()}});
  const ModelSpec model = testing::TestModel(6);
  const TrainingOptions training = testing::TestTraining(4);
  const LayerProfiles profiles = ProfileLayers(model, cluster, training, {});
  const auto& layers = *profiles.Find({0, 2, 4});
  ASSERT_EQ(layers.size(), 8u);

  PipelinePlan plan{.pipeline_microbatch_size = 4};
  const int cuts[] = {0, 3, 8};
  for (int s = 0; s < 2; ++s) {
    plan.stages.push_back(
        {.plan = {.begin = {cuts[s], 0},
                  .end = {cuts[s + 1], 0},
                  .parallelism = {.tp_degree = 2},
                  .recompute = {{.num_layers = cuts[s + 1] - cuts[s]}}},
         .gpus = {{0, 2 * s}, {0, 2 * s + 1}}});
  }
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluatePlan(model, cluster, training, plan));
  for (int s = 0; s < 2; ++s) {
    LayerProfile sum;
    for (int l = cuts[s]; l < cuts[s + 1]; ++l) {
      sum.forward_s += layers[l].forward_s;
      sum.backward_s += layers[l].backward_s;
      sum.optimizer_s += layers[l].optimizer_s;
      sum.state_bytes += layers[l].state_bytes;
      sum.activation_bytes += layers[l].activation_bytes;
    }
    const StageEvaluation& stage = evaluation.stages[s];
    EXPECT_NEAR(sum.forward_s / stage.forward_s, 1, 1e-9);
    EXPECT_NEAR(sum.backward_s / stage.backward_s, 1, 1e-9);
    EXPECT_NEAR(sum.optimizer_s / stage.optimizer_s, 1, 1e-9);
    EXPECT_NEAR(sum.state_bytes / (stage.weight_bytes + stage.gradient_bytes +
                                   stage.optimizer_bytes),
                1, 1e-9);
    EXPECT_NEAR(sum.activation_bytes / stage.activation_bytes, 1, 1e-9);
  }
}

TEST(LayerProfilesTest, RecomputationCostsAForwardPassAndSavesMemory) {
  const Cluster cluster = TestCluster({{.name = "a", .device = TestDevice()}});
  const auto profiles_of = [&](bool recompute) {
    return ProfileLayers(testing::TestModel(2), cluster,
                         testing::TestTraining(), {.recompute = recompute});
  };
  const std::vector<LayerProfile> kept = *profiles_of(false).Find({0, 1, 1});
  const std::vector<LayerProfile> again = *profiles_of(true).Find({0, 1, 1});
  EXPECT_EQ(kept.front(), again.front());  // Embedding.
  EXPECT_EQ(kept.back(), again.back());    // Head.
  EXPECT_DOUBLE_EQ(again[1].forward_s, kept[1].forward_s);
  EXPECT_DOUBLE_EQ(again[1].backward_s, kept[1].backward_s + kept[1].forward_s);
  EXPECT_LT(again[1].activation_bytes, kept[1].activation_bytes);
  EXPECT_EQ(again[1].state_bytes, kept[1].state_bytes);
}

}  // namespace
}  // namespace tangram
