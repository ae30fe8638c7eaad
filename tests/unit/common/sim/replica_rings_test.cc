#include "common/sim/replica_rings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// Nodes that tasks may refer to.
constexpr int kNodes[] = {0, 1, 2, 3};

// Returns nodes [first, first + count) as those of one member.
absl::Span<const int> Nodes(size_t first, size_t count) {
  return absl::MakeConstSpan(kNodes).subspan(first, count);
}

double LastEnd(const std::vector<RingTask>& tasks) {
  std::vector<double> node_free_s(1);
  const std::vector<double> ends = PlayRings(tasks, node_free_s);
  return *std::max_element(ends.begin(), ends.end());
}

// Returns the end of one order of tasks on one link.
double EndOf(const std::vector<RingTask>& tasks,
             const std::vector<size_t>& order) {
  double free_s = 0;
  for (const size_t i : order) {
    free_s = std::max(free_s, tasks[i].release_s) + tasks[i].duration_s;
  }
  return free_s;
}

TEST(PlayRingsPropertyTest, NoOrderOnOneLinkEndsEarlier) {
  std::mt19937 generator(5);
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    std::vector<RingTask> tasks(1 + generator() % 6);
    for (RingTask& task : tasks) {
      task = {.release_s = static_cast<double>(generator() % 20),
              .duration_s = static_cast<double>(generator() % 10),
              .nodes = {Nodes(0, 1)}};
    }
    std::vector<size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0);
    double best_s = HUGE_VAL;
    do {
      best_s = std::min(best_s, EndOf(tasks, order));
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(LastEnd(tasks), best_s);

    // max_j (R_(j) + Σ_{k ≥ j} d_(k)).
    std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
      return a.release_s < b.release_s;
    });
    double formula_s = 0;
    double rest_s = 0;
    for (size_t j = tasks.size(); j-- > 0;) {
      rest_s += tasks[j].duration_s;
      formula_s = std::max(formula_s, tasks[j].release_s + rest_s);
    }
    EXPECT_EQ(LastEnd(tasks), formula_s);
  }
}

TEST(PlayRingsTest, TasksOfOtherNodesRunAtOnce) {
  std::vector<double> node_free_s(4);
  EXPECT_THAT(
      PlayRings({{.duration_s = 2, .nodes = {Nodes(0, 2)}},
                 {.duration_s = 3, .nodes = {Nodes(2, 1), Nodes(3, 1)}},
                 {.release_s = 1, .duration_s = 1, .nodes = {Nodes(1, 2)}}},
                node_free_s),
      ElementsAre(2, 3, 4));
  EXPECT_THAT(node_free_s, ElementsAre(2, 4, 4, 3));
}

// Pipeline 0 has stages with layers 0–1 and 2–5, pipeline 1 with layers 0–3 and
// 4–5. Each stage has its own node.
ReplicatedPlan CutsThatDoNotMatch(int tp) {
  using testing::NodeGpus;
  using testing::StageOn;
  return {
      .pipelines = {{.plan = {.pipeline_microbatch_size = 4,
                              .stages = {StageOn(0, 2, {.tp_degree = tp},
                                                 NodeGpus(0, tp)),
                                         StageOn(2, 6, {.tp_degree = tp},
                                                 NodeGpus(1, tp))}},
                     .num_microbatches = 4},
                    {.plan = {.pipeline_microbatch_size = 4,
                              .stages = {StageOn(0, 4, {}, NodeGpus(2, 1)),
                                         StageOn(4, 6, {}, NodeGpus(3, 1))}},
                     .num_microbatches = 4}}};
}

TEST(ReplicaSegmentsTest, LieBetweenTheCutsOfAllPipelines) {
  // Embedding, four layers, head.
  const ModelSpec model = testing::TestModel(4);
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 4, .device = testing::TestDevice()}});
  const std::vector<ReplicaSegment> segments = ReplicaSegments(
      model, cluster, testing::TestTraining(), CutsThatDoNotMatch(/*tp=*/1));
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[1].begin, (OperatorCut{2, 0}));
  EXPECT_EQ(segments[1].end, (OperatorCut{4, 0}));
  EXPECT_THAT(segments[0].stages, ElementsAre(0, 0));
  EXPECT_THAT(segments[1].stages, ElementsAre(1, 0));
  EXPECT_THAT(segments[2].stages, ElementsAre(1, 1));
  // Two members: each hop carries 2 · 1/2 of the 2-byte gradients at 10 GB/s.
  EXPECT_THAT(
      segments[1].reduce_s,
      DoubleNear(2 * ParameterCount(model.layers[2]) * 2 / 10e9, 1e-12));
  EXPECT_EQ(segments[1].gather_s, 0);
}

TEST(ReplicaSegmentsTest, UnlikeTensorParallelismPaysALatencyForEachPiece) {
  const ModelSpec model = testing::TestModel(4);
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 4, .device = testing::TestDevice()}});
  const auto seconds = [&](int tp) {
    return ReplicaSegments(model, cluster, testing::TestTraining(),
                           CutsThatDoNotMatch(tp))[1]
        .reduce_s;
  };
  const double without_s = seconds(4);
  EXPECT_EQ(seconds(1), without_s);
  cluster.links[0][0].latency_s = 1;
  // 2 (R − 1) messages, in four rings through the GPU that holds the whole
  // segment.
  EXPECT_DOUBLE_EQ(seconds(1), without_s + 2);
  EXPECT_DOUBLE_EQ(seconds(4), without_s + 8);
}

TEST(ReplicaSegmentsTest, TheLargestFractionOfStateSetsThePace) {
  const ModelSpec model = testing::TestModel(4);
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 4, .device = testing::TestDevice()}});
  ReplicatedPlan plan = CutsThatDoNotMatch(1);
  const double all_reduce_s =
      ReplicaSegments(model, cluster, testing::TestTraining(), plan)[0]
          .reduce_s;
  plan.sync = ReplicaSync::kZero1;
  plan.pipelines[0].state_fraction = plan.pipelines[1].state_fraction = 0.5;
  ReplicaSegment even =
      ReplicaSegments(model, cluster, testing::TestTraining(), plan)[0];
  EXPECT_DOUBLE_EQ(even.reduce_s, all_reduce_s / 2);
  EXPECT_DOUBLE_EQ(even.reduce_s + even.gather_s, all_reduce_s);
  plan.pipelines[0].state_fraction = 0.75;
  plan.pipelines[1].state_fraction = 0.25;
  EXPECT_DOUBLE_EQ(
      ReplicaSegments(model, cluster, testing::TestTraining(), plan)[0]
          .reduce_s,
      1.5 * even.reduce_s);
}

TEST(StageNodesOfTest, ListsTheNodesOfEachStageOnce) {
  const StageNodes nodes = StageNodesOf(CutsThatDoNotMatch(/*tp=*/4));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_THAT(nodes[0], ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(nodes[1], ElementsAre(ElementsAre(2), ElementsAre(3)));
}

}  // namespace
}  // namespace tangram
