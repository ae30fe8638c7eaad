#include "common/change/plan_move.h"

#include "common/cost/operator_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::SizeIs;

// Two nodes of two GPUs.
Cluster TwoNodes() {
  return testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .gpus_per_node = 2}});
}

// One stage of the whole model on the GPUs.
PipelinePlan OneStage(const ModelSpec& model, int tp, int dp, int zero,
                      std::vector<GpuId> gpus) {
  PipelinePlan plan{.pipeline_microbatch_size = dp};
  PlacedStage& stage = plan.stages.emplace_back();
  stage.plan.end.layer = model.num_layers();
  stage.plan.parallelism = {
      .tp_degree = tp, .dp_degree = dp, .zero_stage = zero};
  stage.gpus = std::move(gpus);
  return plan;
}

class PlanMoveTest : public ::testing::Test {
 protected:
  HeldState Held(const PipelinePlan& plan) const {
    return HeldBy(model_, cluster_, training_, plan);
  }
  PlanMove Move(const PipelinePlan& before, const PipelinePlan& after,
                const std::set<std::string>& lost = {}) const {
    const HeldState held = Held(before);
    const HeldState wanted = Held(after);
    return MoveBetween({held, cluster_}, {wanted, cluster_}, lost);
  }
  // Bytes of the model's weights, and with fp16 and Adam six times as much of
  // optimizer state: 2 and 12 bytes a parameter.
  double StateBytes() const {
    double bytes = 0;
    for (const HeldPart& part :
         Held(OneStage(model_, 1, 1, 0, {{0, 0}})).parts) {
      EXPECT_EQ(part.begin, 0);
      EXPECT_EQ(part.end, 1);
      bytes += part.tensor_bytes;
    }
    return bytes;
  }

  const ModelSpec model_ = testing::TestModel(4);
  const Cluster cluster_ = TwoNodes();
  const TrainingOptions training_ = testing::TestTraining(8);
};

TEST_F(PlanMoveTest, TheSamePlanMovesNothing) {
  const PipelinePlan plan =
      OneStage(model_, 2, 2, 1, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  const PlanMove move = Move(plan, plan);
  EXPECT_EQ(move.moved_bytes, 0);
  EXPECT_EQ(move.checkpoint_bytes, 0);
  EXPECT_EQ(move.seconds, 0);
  EXPECT_DOUBLE_EQ(move.kept_bytes, move.needed_bytes);
}

TEST_F(PlanMoveTest, AnotherReplicaIsFetchedWhole) {
  // The second replica, on the other node, has nothing.
  const PlanMove move = Move(OneStage(model_, 1, 1, 0, {{0, 0}}),
                             OneStage(model_, 1, 2, 0, {{0, 0}, {1, 0}}));
  EXPECT_NEAR(move.moved_bytes, StateBytes(), 1);
  EXPECT_NEAR(move.kept_bytes, StateBytes(), 1);
  ASSERT_THAT(move.transfers, SizeIs(1));
  EXPECT_EQ(move.transfers[0].from, "a-0");
  EXPECT_EQ(move.transfers[0].to, "a-1");
  // 10 GB/s between nodes.
  EXPECT_NEAR(move.seconds, StateBytes() / 10e9, 1e-9);
}

TEST_F(PlanMoveTest, APartComesFromTheOwnNode) {
  const PlanMove move = Move(OneStage(model_, 1, 2, 0, {{0, 0}, {1, 0}}),
                             OneStage(model_, 1, 2, 0, {{0, 1}, {1, 1}}));
  EXPECT_TRUE(move.transfers.empty());
  EXPECT_NEAR(move.moved_bytes, 2 * StateBytes(), 1);
  // 100 GB/s inside a node.
  EXPECT_NEAR(move.seconds, StateBytes() / 100e9, 1e-9);
}

TEST_F(PlanMoveTest, ReplicasFetchFromEachOther) {
  // Both GPUs of the other node need all of it, which crosses the link once.
  const PipelinePlan one = OneStage(model_, 1, 1, 0, {{0, 0}});
  const PipelinePlan two = OneStage(model_, 1, 2, 0, {{1, 0}, {1, 1}});
  const PlanMove move = Move(one, two);
  EXPECT_NEAR(move.moved_bytes, 2 * StateBytes(), 1);
  EXPECT_NEAR(move.nodes[1].in_bytes, StateBytes(), 1);
  EXPECT_NEAR(move.nodes[1].from_inside_bytes, StateBytes(), 1);
  EXPECT_NEAR(move.seconds, StateBytes() / 10e9, 1e-9);
  // The checkpoint is read once too.
  const PlanMove lost = Move(one, two, {"a-0"});
  EXPECT_NEAR(lost.checkpoint_bytes, StateBytes(), 1);
  EXPECT_NEAR(lost.moved_bytes, StateBytes(), 1);
}

TEST_F(PlanMoveTest, AStageWithTheEmbeddingHoldsATiedMatrixOnce) {
  ModelSpec tied = model_;
  for (LayerSpec& layer : tied.layers) layer.tied_embeddings = true;
  const auto bytes_of = [&](const ModelSpec& model) {
    double bytes = 0;
    for (const HeldPart& part :
         HeldBy(model, cluster_, training_, OneStage(model, 1, 1, 0, {{0, 0}}))
             .parts) {
      bytes += part.tensor_bytes;
    }
    return bytes;
  };
  const LayerSpec& head = tied.layers.back();
  EXPECT_NEAR(bytes_of(model_) - bytes_of(tied),
              14.0 * head.vocab_size * head.hidden_size, 1);
}

TEST_F(PlanMoveTest, ALostShardComesFromTheCheckpoint) {
  // ZeRO 1 splits the optimizer state over the replicas: node 1 had half of it.
  const PlanMove move = Move(OneStage(model_, 1, 2, 1, {{0, 0}, {1, 0}}),
                             OneStage(model_, 1, 1, 0, {{0, 0}}), {"a-1"});
  EXPECT_TRUE(move.loses_state());
  EXPECT_NEAR(move.checkpoint_bytes, StateBytes() * 12 / 14 / 2, 1);
  EXPECT_NEAR(move.needed_bytes, StateBytes(), 1);
  // Replicas without ZeRO lose nothing.
  EXPECT_FALSE(Move(OneStage(model_, 1, 2, 0, {{0, 0}, {1, 0}}),
                    OneStage(model_, 1, 1, 0, {{0, 0}}), {"a-1"})
                   .loses_state());
}

TEST_F(PlanMoveTest, AShardOfAnotherGroupIsNotLost) {
  // Both nodes hold all shards.
  PipelinePlan plan =
      OneStage(model_, 1, 4, 1, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  const PipelinePlan one = OneStage(model_, 1, 1, 0, {{0, 0}});
  EXPECT_TRUE(Move(plan, one, {"a-1"}).loses_state());
  plan.stages[0].plan.parallelism.zero_degree = 2;
  const PlanMove move = Move(plan, one, {"a-1"});
  EXPECT_FALSE(move.loses_state());
  EXPECT_NEAR(move.moved_bytes, StateBytes() * 12 / 14 / 2, 1);
}

TEST_F(PlanMoveTest, TensorParallelRanksHoldTheirParts) {
  const HeldState held = Held(OneStage(model_, 2, 1, 0, {{0, 0}, {0, 1}}));
  double split = 0;
  for (const HeldPart& part : held.parts) {
    if (part.end - part.begin == 1) continue;  // A norm.
    EXPECT_EQ(part.begin, part.holder == 0 ? 0 : 0.5);
    EXPECT_EQ(part.end, part.holder == 0 ? 0.5 : 1);
    split += part.tensor_bytes / 2;
  }
  EXPECT_GT(split, 0.9 * StateBytes());
  // From two halves to one whole, the second half is fetched.
  const PlanMove move = Move(OneStage(model_, 2, 1, 0, {{0, 0}, {0, 1}}),
                             OneStage(model_, 1, 1, 0, {{0, 0}}));
  EXPECT_NEAR(move.moved_bytes, split / 2, 1);
}

}  // namespace
}  // namespace tangram
