#include "worker/adapters/process/estimates.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/cost/operator_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/parallelizer_service.pb.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::TestIsland;
using testing::TestModel;
using testing::TestTraining;

v1::Estimates Estimates(const IslandSpec& island, int microbatch) {
  return EstimatesFor(
      MakeSlice({0, 6}, TestModel(4).layers), island,
      {.training = TestTraining(32), .pipeline_microbatch_size = microbatch});
}

TEST(EstimatesTest, EachLayerHasAllDegreesThatItCanHave) {
  std::set<std::pair<int, int>> degrees;
  std::set<int> types;
  const v1::Estimates estimates = Estimates(TestIsland(1, 4), 2);
  for (const v1::LayerEstimate& layer : estimates.layers()) {
    types.insert(layer.layer_type());
    if (layer.layer_type() == 1) {
      degrees.emplace(layer.tp_degree(), layer.dp_degree());
    }
  }
  EXPECT_THAT(types, ElementsAre(0, 1, 2));
  // Two samples allow at most two replicas, and four GPUs a tp of at most four.
  EXPECT_THAT(degrees,
              ElementsAre(std::pair(1, 1), std::pair(1, 2), std::pair(2, 1),
                          std::pair(2, 2), std::pair(4, 1)));
}

TEST(EstimatesTest, EachLayerHasItsOperators) {
  const ModelSpec model = TestModel(4);
  const v1::Estimates estimates = Estimates(TestIsland(1, 1), 2);
  ASSERT_EQ(estimates.layers_size(), 3);
  const LayerSpec* kinds[] = {&model.layers[0], &model.layers[1],
                              &model.layers[5]};
  for (int type = 0; type < 3; ++type) {
    std::vector<std::string> names;
    for (const auto& op : estimates.layers(type).operators()) {
      names.push_back(op.name());
    }
    std::vector<std::string> expected;
    for (const OpKind op : OperatorsOf(*kinds[type])) {
      expected.push_back(OpName(op));
    }
    EXPECT_EQ(names, expected);
  }
}

TEST(EstimatesTest, FiguresAreThoseOfTheCostModel) {
  const IslandSpec island = TestIsland(1, 1);
  const TrainingOptions training = TestTraining(32);
  const v1::Estimates estimates = Estimates(island, 2);
  const LayerSpec layer = TestModel(4).layers[1];
  const v1::LayerEstimate& second = estimates.layers(1);
  ASSERT_EQ(second.operators_size(), OperatorsOf(layer).size());
  const OperatorCost cost =
      EstimateOperator(layer, OpKind::kQkvProjection, StageParallelism(),
                       {.device = island.device,
                        .training = training,
                        .wiring = WiringOf(island, 1),
                        .pipeline_microbatch_size = 2});
  const v1::OperatorEstimate& qkv = second.operators(1);
  EXPECT_EQ(qkv.name(), "qkv_projection");
  EXPECT_EQ(qkv.forward_s(), cost.forward_s);
  EXPECT_EQ(qkv.backward_s(), cost.backward_s);
  EXPECT_EQ(qkv.parameters(), cost.dense_parameters);
  EXPECT_EQ(qkv.saved_bytes(), cost.saved_bytes);
  EXPECT_EQ(qkv.boundary_bytes(), BoundaryBytes(layer, 1, 2, training));
  // fp16 weights and gradients, fp32 weights and two moments of Adam.
  EXPECT_EQ(estimates.state_bytes_per_parameter(), 2 + 2 + 4 + 4 + 4);
}

}  // namespace
}  // namespace tangram
