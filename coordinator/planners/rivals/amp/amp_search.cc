#include "coordinator/planners/rivals/amp/amp_search.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "common/base/infinity.h"
#include "coordinator/planners/rivals/amp/partition_program.h"

namespace tangram {
namespace {

struct Strategy {
  int tp_degree = 1;
  int dp_degree = 1;
  int num_stages = 1;
  int samples = 1;
  int num_microbatches = 1;

  int RankOf(int stage, int replica, int t) const {
    return (stage * dp_degree + replica) * tp_degree + t;
  }
};

class Search {
 public:
  Search(const AmpInput& input, const AmpDefects& defects)
      : input_(input), defects_(defects) {
    for (int n = 0; n < static_cast<int>(input.cluster.nodes.size()); ++n) {
      node_of_.insert(node_of_.end(), input.cluster.nodes[n].gpus, n);
    }
    num_layers_ = static_cast<int>(input.layers.begin()->second.size());
  }

  AmpAnswer Run(const std::function<bool()>& should_stop) {
    AmpAnswer answer;
    for (const Strategy& strategy : Strategies()) {
      if (should_stop && should_stop()) {
        answer.stopped = true;
        break;
      }
      const std::optional<AmpPlan> plan = Plan(strategy);
      if (!plan.has_value()) {
        ++answer.too_deep;
        continue;
      }
      ++answer.tried;
      if (plan->bytes_short > 0) {
        answer.least_bytes_short =
            answer.over_memory == 0
                ? plan->bytes_short
                : std::min(answer.least_bytes_short, plan->bytes_short);
        ++answer.over_memory;
      } else {
        answer.plans.push_back(*plan);
      }
    }
    std::stable_sort(answer.plans.begin(), answer.plans.end(),
                     [](const AmpPlan& a, const AmpPlan& b) {
                       return a.predicted_s < b.predicted_s;
                     });
    return answer;
  }

 private:
  // Returns whether every type has the degree.
  bool IsProfiled(int tp_degree, int samples) const {
    for (const AmpNode& node : input_.cluster.nodes) {
      if (!input_.layers.contains({node.type, tp_degree, samples})) {
        return false;
      }
    }
    return true;
  }

  std::vector<Strategy> Strategies() const {
    int common_gpus = 0;
    for (const AmpNode& node : input_.cluster.nodes) {
      common_gpus = std::gcd(common_gpus, node.gpus);
    }
    const int gpus = static_cast<int>(node_of_.size());
    std::vector<Strategy> strategies;
    for (int tp = 1; tp <= common_gpus; ++tp) {
      if (common_gpus % tp != 0) continue;
      for (int dp = 1; dp <= gpus / tp; ++dp) {
        if (gpus / tp % dp != 0 || input_.global_batch_size % dp != 0) continue;
        const int share = input_.global_batch_size / dp;
        for (int samples = 1; samples <= share; ++samples) {
          if (share % samples != 0) continue;
          if (!IsProfiled(tp, defects_.linear_in_samples ? 1 : samples)) {
            continue;
          }
          strategies.push_back({.tp_degree = tp,
                                .dp_degree = dp,
                                .num_stages = gpus / (tp * dp),
                                .samples = samples,
                                .num_microbatches = share / samples});
        }
      }
    }
    return strategies;
  }

  // Returns the layers of a type, for one microbatch.
  std::vector<AmpLayer> LayersOf(int type, const Strategy& strategy) const {
    if (!defects_.linear_in_samples) {
      return input_.layers.at({type, strategy.tp_degree, strategy.samples});
    }
    std::vector<AmpLayer> layers =
        input_.layers.at({type, strategy.tp_degree, 1});
    for (AmpLayer& layer : layers) {
      layer.pass_s *= strategy.samples;
      layer.boundary *= strategy.samples;
      layer.activation_bytes *= strategy.samples;
      layer.transient_bytes *= strategy.samples;
    }
    return layers;
  }

  double RateBetween(int rank, int peer) const {
    const int from = node_of_[rank];
    const int to = node_of_[peer];
    const int group = input_.cluster.nodes[from].group;
    return from == to
               ? input_.cluster.inside[group]
               : input_.cluster.between[group][input_.cluster.nodes[to].group];
  }

  // Returns the types of the stage's GPUs, each once.
  std::vector<int> TypesOf(const Strategy& strategy, int stage) const {
    std::vector<int> types;
    for (int rank = strategy.RankOf(stage, 0, 0);
         rank < strategy.RankOf(stage + 1, 0, 0); ++rank) {
      const int type = input_.cluster.nodes[node_of_[rank]].type;
      if (std::find(types.begin(), types.end(), type) == types.end()) {
        types.push_back(type);
      }
    }
    return types;
  }

  // The times of the layers on a GPU of mean speed.
  std::vector<double> MeanSeconds(
      const std::vector<std::vector<AmpLayer>>& of_type) const {
    std::vector<double> gpus(of_type.size());
    for (const int node : node_of_) ++gpus[input_.cluster.nodes[node].type];
    std::vector<double> seconds(num_layers_);
    for (size_t type = 0; type < of_type.size(); ++type) {
      if (of_type[type].empty()) continue;
      const double share = gpus[type] / static_cast<double>(node_of_.size());
      for (int l = 0; l < num_layers_; ++l) {
        seconds[l] += share * of_type[type][l].pass_s;
      }
    }
    return seconds;
  }

  // Replicas share a microbatch evenly, so the slowest type times a stage.
  std::vector<double> StageSeconds(
      const std::vector<std::vector<AmpLayer>>& of_type,
      const std::vector<int>& types) const {
    std::vector<double> seconds(num_layers_);
    for (const int type : types) {
      for (int l = 0; l < num_layers_; ++l) {
        seconds[l] = std::max(seconds[l], of_type[type][l].pass_s);
      }
    }
    return seconds;
  }

  // A transfer takes the slowest link of a tp group's peers, on average over
  // the replicas.
  double SecondsPerUnit(const Strategy& strategy, int stage) const {
    double sum = 0;
    for (int replica = 0; replica < strategy.dp_degree; ++replica) {
      double slowest = kInfinity;
      for (int t = 0; t < strategy.tp_degree; ++t) {
        slowest = std::min(slowest,
                           RateBetween(strategy.RankOf(stage, replica, t),
                                       strategy.RankOf(stage + 1, replica, t)));
      }
      sum += 1 / slowest;
    }
    return sum / strategy.dp_degree;
  }

  PartitionProblem ProblemOf(const Strategy& strategy,
                             const std::vector<std::vector<AmpLayer>>& of_type,
                             const std::vector<AmpLayer>& any_type) const {
    PartitionProblem problem{.num_microbatches = strategy.num_microbatches};
    for (int s = 0; s < strategy.num_stages; ++s) {
      problem.stage_s.push_back(
          defects_.mean_gpu ? MeanSeconds(of_type)
                            : StageSeconds(of_type, TypesOf(strategy, s)));
      if (s + 1 == strategy.num_stages) break;
      const double per_unit_s = SecondsPerUnit(strategy, s);
      std::vector<double>& transfer_s =
          problem.transfer_s.emplace_back(num_layers_ + 1);
      for (int l = 1; l <= num_layers_; ++l) {
        transfer_s[l] = any_type[l - 1].boundary * per_unit_s;
      }
    }
    return problem;
  }

  // A ring over d replicas at rate w reduces n units in 2 (d - 1) n / (d w).
  double ReduceSeconds(const Strategy& strategy, int stage,
                       double reduced) const {
    const int dp = strategy.dp_degree;
    double slowest = kInfinity;
    for (int t = 0; t < strategy.tp_degree; ++t) {
      for (int replica = defects_.last_link_alone ? dp - 1 : 0; replica < dp;
           ++replica) {
        slowest = std::min(
            slowest,
            RateBetween(strategy.RankOf(stage, replica, t),
                        strategy.RankOf(stage, (replica + 1) % dp, t)));
      }
    }
    return 2.0 * (dp - 1) / (dp * slowest) * reduced;
  }

  // Returns by how much the stage exceeds the memory of its smallest GPU under
  // 1F1B.
  double BytesShort(const Strategy& strategy, const AmpPlan& plan, int stage,
                    const std::vector<std::vector<AmpLayer>>& of_type) const {
    const int in_flight =
        std::min(strategy.num_stages - stage, strategy.num_microbatches);
    double bytes_short = 0;
    for (const int type : TypesOf(strategy, stage)) {
      double bytes = 0;
      double transient_bytes = 0;
      for (int l = plan.bounds[stage]; l < plan.bounds[stage + 1]; ++l) {
        const AmpLayer& layer = of_type[type][l];
        bytes += layer.state_bytes + in_flight * layer.activation_bytes;
        transient_bytes = std::max(transient_bytes, layer.transient_bytes);
      }
      bytes_short = std::max(
          bytes_short, bytes + transient_bytes - input_.capacity_bytes[type]);
    }
    return bytes_short;
  }

  std::vector<int> BoundsOf(const PartitionProblem& problem) const {
    if (defects_.even_single_microbatch && problem.num_microbatches == 1) {
      return EvenPartition(problem.num_stages(), num_layers_,
                           input_.first_block, input_.num_blocks);
    }
    return defects_.forgets_transfers ? UpstreamPartition(problem)
                                      : FastestPartition(problem);
  }

  // Empty: no partition.
  std::optional<AmpPlan> Plan(const Strategy& strategy) const {
    if (strategy.num_stages > num_layers_) return std::nullopt;
    // Types without a node stay empty.
    std::vector<std::vector<AmpLayer>> of_type(input_.capacity_bytes.size());
    for (const AmpNode& node : input_.cluster.nodes) {
      if (of_type[node.type].empty()) {
        of_type[node.type] = LayersOf(node.type, strategy);
      }
    }
    // The bytes on links do not depend on the type.
    const std::vector<AmpLayer>& any_type =
        of_type[input_.cluster.nodes.front().type];
    const PartitionProblem problem = ProblemOf(strategy, of_type, any_type);
    AmpPlan plan{.tp_degree = strategy.tp_degree,
                 .dp_degree = strategy.dp_degree,
                 .samples = strategy.samples,
                 .bounds = BoundsOf(problem)};
    if (plan.bounds.empty()) return std::nullopt;
    double reduce_s = 0;
    for (int s = 0; s < strategy.num_stages; ++s) {
      double reduced = 0;
      for (int l = plan.bounds[s]; l < plan.bounds[s + 1]; ++l) {
        reduced += any_type[l].reduced - (s == 0 ? any_type[l].copied : 0);
      }
      reduce_s = std::max(reduce_s, ReduceSeconds(strategy, s, reduced));
      if (!defects_.no_memory) {
        plan.bytes_short =
            std::max(plan.bytes_short, BytesShort(strategy, plan, s, of_type));
      }
    }
    plan.predicted_s = PipelineSeconds(problem, plan.bounds) + reduce_s;
    return plan;
  }

  const AmpInput& input_;
  const AmpDefects& defects_;
  std::vector<int> node_of_;  // By rank.
  int num_layers_ = 0;
};

}  // namespace

AmpAnswer SearchAmp(const AmpInput& input, const AmpDefects& defects,
                    const std::function<bool()>& should_stop) {
  if (input.layers.empty()) return {};
  return Search(input, defects).Run(should_stop);
}

}  // namespace tangram
