// The search for several pipelines against brute force on small clusters.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "coordinator/planners/replicas/plan_pipelines.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/number_from_environment.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::StageOn;

// Returns the number of random clusters; TANGRAM_PLANNER_SEEDS changes it.
uint32_t NumInstances() {
  return testing::NumberFromEnvironment("TANGRAM_PLANNER_SEEDS", 300);
}

// One to three groups of one or two nodes with two GPUs each, at most four
// nodes. They differ in speed, memory and links.
PlanRequest RandomRequest(uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<testing::TestGroup> groups;
  int num_nodes = 0;
  for (int g = 0; g < 3 && num_nodes < 4; ++g) {
    DeviceSpec device = testing::TestDevice("D" + std::to_string(g));
    device.peak_flops.fp16 /= 1 + static_cast<int>(rng() % 4);
    constexpr double kMemory[] = {3e8, 6e8, 1e9, 16e9};
    device.memory_bytes = kMemory[rng() % 4];
    const int nodes = std::min(4 - num_nodes, 1 + static_cast<int>(rng() % 2));
    num_nodes += nodes;
    groups.push_back({.name = "g" + std::to_string(g),
                      .num_nodes = nodes,
                      .gpus_per_node = 2,
                      .device = device});
    if (g > 0 && rng() % 2 == 0) break;
  }
  constexpr double kBetween[] = {1e9, 1e10, 1e11, 1e12};
  PlanRequest request{
      .cluster = testing::TestCluster(groups, kBetween[rng() % 4]),
      .model = testing::TestModel(2 + static_cast<int>(rng() % 2)),
      .training = testing::TestTraining()};
  // So few that all groups are planned for all shares.
  request.training.global_batch_size =
      4 + static_cast<int>(rng() % (num_nodes > 3 ? 2 : 5));
  return request;
}

std::vector<Island> IslandsOf(const PlanRequest& request) {
  std::vector<Island> islands;
  for (int n = 0; n < static_cast<int>(request.cluster->nodes.size()); ++n) {
    const Node& node = request.cluster->nodes[n];
    if (node.group == static_cast<int>(islands.size())) {
      islands.push_back({.id = node.group});
      islands.back().spec.device = node.device;
      islands.back().spec.gpus_per_node = 2;
    }
    islands.back().nodes.push_back(n);
  }
  return islands;
}

std::vector<int> NodesLeft(const PlanRequest& request) {
  std::vector<int> nodes;
  for (int n = 0; n < static_cast<int>(request.cluster->nodes.size()); ++n) {
    if (!absl::c_linear_search(request.constraints.exclude_nodes,
                               request.cluster->nodes[n].name)) {
      nodes.push_back(n);
    }
  }
  return nodes;
}

// Finds the best pipeline with a stage on each node, in any order, with tp or
// dp in all stages, any cuts between layers and any microbatch size.
class OnePipeline {
 public:
  explicit OnePipeline(const PlanRequest& request) : request_(request) {}

  PlanResult Best() && {
    PlanResult result{.islands = IslandsOf(request_)};
    std::vector<int> nodes = NodesLeft(request_);
    const int batch = request_.training.global_batch_size;
    const int num_stages = static_cast<int>(nodes.size());
    do {
      for (const bool is_tp : {false, true}) {
        for (int size = is_tp ? 1 : 2; size <= batch; ++size) {
          if (batch % size != 0 || (!is_tp && size % 2 != 0)) continue;
          PipelinePlan plan{.pipeline_microbatch_size = size};
          AddStages(nodes, is_tp, num_stages, 0, plan, result);
        }
      }
    } while (std::next_permutation(nodes.begin(), nodes.end()));
    if (!result.plan.has_value()) {
      result.infeasible = Infeasible{.reason = "nothing fits"};
    }
    return result;
  }

 private:
  void AddStages(const std::vector<int>& nodes, bool is_tp, int num_stages,
                 int begin, PipelinePlan& plan, PlanResult& result) const {
    const int s = plan.num_stages();
    if (s == num_stages) {
      Try(plan, result);
      return;
    }
    const int num_layers = request_.model.num_layers();
    const bool is_last = s + 1 == num_stages;
    for (int end = is_last ? num_layers : begin + 1;
         end <= num_layers - (num_stages - s - 1); ++end) {
      plan.stages.push_back(StageOn(
          begin, end, {.tp_degree = is_tp ? 2 : 1, .dp_degree = is_tp ? 1 : 2},
          NodeGpus(nodes[s], 2)));
      plan.stages.back().island = request_.cluster->nodes[nodes[s]].group;
      AddStages(nodes, is_tp, num_stages, end, plan, result);
      plan.stages.pop_back();
    }
  }

  // Keeps clearly better plans only, so that equal nodes give equal plans.
  void Try(const PipelinePlan& plan, PlanResult& result) const {
    const auto evaluation =
        EvaluatePlan(request_.model, request_.cluster, request_.training, plan);
    ASSERT_THAT(evaluation, testing::IsOk());
    if (!evaluation->violations.empty()) return;
    if (result.plan.has_value() &&
        evaluation->iteration_time_s >=
            result.evaluation.iteration_time_s * (1 - 1e-9)) {
      return;
    }
    result.plan = plan;
    result.evaluation = *evaluation;
  }

  const PlanRequest& request_;
};

// Tries all assignments of named nodes to pipelines, all plans that OnePipeline
// gives for any share, all shares and both ways to add up gradients.
class BruteForce {
 public:
  BruteForce(const PlanRequest& request, int max_pipelines)
      : request_(request), max_pipelines_(max_pipelines) {}

  double BestSeconds() && {
    Assign(0, {});
    return best_s_;
  }

 private:
  using Nodes = std::vector<int>;

  void Assign(int node, const std::vector<Nodes>& pipelines) {
    if (node == static_cast<int>(request_.cluster->nodes.size())) {
      if (pipelines.size() >= 2) AddPipelines(pipelines, 0, 0, {});
      return;
    }
    Assign(node + 1, pipelines);
    for (size_t r = 0; r < pipelines.size(); ++r) {
      std::vector<Nodes> more = pipelines;
      more[r].push_back(node);
      Assign(node + 1, more);
    }
    if (static_cast<int>(pipelines.size()) == max_pipelines_) return;
    std::vector<Nodes> more = pipelines;
    more.push_back({node});
    Assign(node + 1, more);
  }

  const std::vector<PipelinePlan>& PlansOf(const Nodes& nodes) {
    const auto [place, is_new] = plans_.try_emplace(nodes);
    if (!is_new) return place->second;
    PlanRequest request = request_;
    for (int n = 0; n < static_cast<int>(request.cluster->nodes.size()); ++n) {
      if (absl::c_linear_search(nodes, n)) continue;
      request.constraints.exclude_nodes.push_back(
          request.cluster->nodes[n].name);
    }
    for (int n = 1; n < request_.training.global_batch_size; ++n) {
      request.training.global_batch_size = n;
      const PlanResult result = OnePipeline(request).Best();
      if (!result.plan.has_value()) continue;
      if (absl::c_linear_search(place->second, *result.plan)) continue;
      place->second.push_back(*result.plan);
    }
    return place->second;
  }

  void AddPipelines(const std::vector<Nodes>& nodes, size_t r, int samples,
                    const std::vector<PipelineReplica>& pipelines) {
    const int left = request_.training.global_batch_size - samples;
    if (r == nodes.size()) {
      if (left == 0) Judge(pipelines);
      return;
    }
    for (const PipelinePlan& plan : PlansOf(nodes[r])) {
      const int size = plan.pipeline_microbatch_size;
      for (int b = 1; b * size <= left; ++b) {
        std::vector<PipelineReplica> more = pipelines;
        more.push_back({.plan = plan, .num_microbatches = b});
        AddPipelines(nodes, r + 1, samples + b * size, more);
      }
    }
  }

  void Judge(const std::vector<PipelineReplica>& pipelines) {
    for (const ReplicaSync sync :
         {ReplicaSync::kAllReduce, ReplicaSync::kZero1}) {
      ReplicatedPlan plan{.pipelines = pipelines, .sync = sync};
      if (sync == ReplicaSync::kZero1) {
        for (PipelineReplica& replica : plan.pipelines) {
          replica.state_fraction = 1.0 / static_cast<double>(pipelines.size());
        }
      }
      const auto evaluation = EvaluateReplicatedPlan(
          request_.model, request_.cluster, request_.training, plan);
      ASSERT_THAT(evaluation, testing::IsOk());
      if (!evaluation->fits()) continue;
      best_s_ = std::min(best_s_, evaluation->iteration_time_s);
    }
  }

  const PlanRequest& request_;
  const int max_pipelines_;
  std::map<Nodes, std::vector<PipelinePlan>> plans_;
  double best_s_ = kInfinity;
};

TEST(ReplicatedSearchPropertyTest, EqualsBruteForceOnSmallClusters) {
  const PlanOnePipeline plan =
      [](const PlanRequest& request) -> absl::StatusOr<PlanResult> {
    return OnePipeline(request).Best();
  };
  int num_several = 0;
  for (uint32_t seed = 0; seed < NumInstances(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const PlanRequest request = RandomRequest(seed);
    PlanResult result = OnePipeline(request).Best();
    if (!result.plan.has_value()) continue;
    const double one_s = result.evaluation.iteration_time_s;
    testing::SilentObserver observer;
    ASSERT_THAT(PlanPipelines(request,
                              {.max_pipelines = 3,
                               .min_gain = 0,
                               .quick = plan,
                               .thorough = plan},
                              observer, result),
                testing::IsOk());
    const double best_s = BruteForce(request, 3).BestSeconds();
    EXPECT_NEAR(result.iteration_time_s() / std::min(best_s, one_s), 1, 1e-9);
    num_several += result.replicated_plan.has_value() ? 1 : 0;
  }
  // Several pipelines are the answer often enough to say something.
  EXPECT_GT(num_several * 4, static_cast<int>(NumInstances()));
}

}  // namespace
}  // namespace tangram
