#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "common/domain/stage_part.h"
#include "common/sim/evaluate_mixed_stages.h"
#include "common/sim/evaluate_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/mixed_request.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using testing::Mixed;
using testing::MixedOn;
using testing::NodeGpus;
using testing::StageOn;

// Simulates a plan from the definitions, as the fixed point of "an event starts
// when the events that it waits for have ended". Every group and every stage of
// equal replicas is on nodes of its own. Durations of passes are the
// evaluation's; routes, transfers and the exchange of gradients are computed
// again.
class NaiveMixed {
 public:
  NaiveMixed(const Mixed& in, const Evaluation& evaluation)
      : in_(in), evaluation_(evaluation), b_(in.num_microbatches()) {
    for (int s = 0; s < in.plan.num_stages(); ++s) {
      routes_.push_back(RouteOf(in.plan.stages[s]));
    }
  }

  double IterationSeconds() {
    const int p = in_.plan.num_stages();
    for (int s = 0; s < p; ++s) {
      for (int d = 0; d < NumDevices(s); ++d) {
        orders_[{s, d}] = OrderOf(s, d);
      }
    }
    for (bool moves = true; moves;) {
      moves = false;
      for (const auto& [device, order] : orders_) moves |= Relax(device, order);
    }
    double iteration_s = 0;
    for (int s = 0; s < p; ++s) {
      iteration_s = std::max(iteration_s, EndOfStage(s));
    }
    return iteration_s;
  }

  // Returns the most microbatches that a device holds at once.
  int Held(int s, int d) const {
    int held = 0;
    int most = 0;
    for (const auto& [kind, m] : orders_.at({s, d})) {
      held += kind == 'F' ? 1 : -1;
      most = std::max(most, held);
    }
    return most;
  }

 private:
  using Device = std::pair<int, int>;  // Stage and group.
  using Pass = std::pair<char, int>;   // 'F' or 'B', microbatch.

  const PlacedStage& StageAt(int s) const { return in_.plan.stages[s]; }
  int NumDevices(int s) const {
    return IsRouted(StageAt(s))
               ? static_cast<int>(StageAt(s).mixed.groups.size())
               : 1;
  }

  // Sorts the midpoints (2j + 1) / (2 share) of all groups.
  std::vector<int> RouteOf(const PlacedStage& stage) const {
    if (!IsRouted(stage)) return std::vector<int>(b_);
    std::vector<std::array<int, 3>> turns;  // Numerator, share, group.
    for (size_t g = 0; g < stage.mixed.groups.size(); ++g) {
      const int share = stage.mixed.groups[g].share;
      for (int j = 0; j < share; ++j) {
        turns.push_back({2 * j + 1, share, static_cast<int>(g)});
      }
    }
    std::sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) {
      const int left = a[0] * b[1];
      const int right = b[0] * a[1];
      return left != right ? left < right : a[2] < b[2];
    });
    std::vector<int> route;
    for (const auto& turn : turns) route.push_back(turn[2]);
    return route;
  }

  std::vector<Pass> OrderOf(int s, int d) const {
    int before = in_.plan.schedule == PipelineSchedule::kGpipe
                     ? b_
                     : in_.plan.num_stages() - s;
    if (!in_.plan.warm_up_passes.empty()) before = in_.plan.warm_up_passes[s];
    before = std::min(before, b_);
    std::vector<Pass> order;
    const auto add = [&](char kind, int m) {
      if (routes_[s][m] == d) order.push_back({kind, m});
    };
    for (int m = 0; m < before; ++m) add('F', m);
    for (int m = 0; m < b_; ++m) {
      add('B', m);
      if (before + m < b_) add('F', before + m);
    }
    return order;
  }

  // The figures of the groups that a device consists of.
  std::vector<StageEvaluation> PartsOfDevice(const Device& device) const {
    const StageEvaluation& stage = evaluation_.stages[device.first];
    if (stage.replicas.empty()) return {stage};
    if (IsRouted(StageAt(device.first))) {
      return {stage.replicas[device.second]};
    }
    return stage.replicas;
  }

  double PassSeconds(char kind, const Device& device) const {
    double slowest_s = 0;
    for (const StageEvaluation& part : PartsOfDevice(device)) {
      slowest_s =
          std::max(slowest_s, kind == 'F' ? part.forward_s : part.backward_s);
    }
    return slowest_s;
  }

  // Nodes of the groups of a device, each with its fraction of the samples.
  std::vector<std::pair<int, double>> PlacesOf(const Device& device) const {
    const PlacedStage& stage = StageAt(device.first);
    std::vector<std::pair<int, double>> places;
    size_t first = 0;
    for (size_t g = 0; g < stage.mixed.groups.size(); ++g) {
      const ReplicaGroup& group = stage.mixed.groups[g];
      const int node = stage.gpus[first].node;
      first += group.parallelism.num_gpus();
      if (!IsRouted(stage)) {
        places.push_back(
            {node, 1.0 * group.share / in_.plan.pipeline_microbatch_size});
      } else if (static_cast<int>(g) == device.second) {
        places.push_back({node, 1});
      }
    }
    if (places.empty()) places.push_back({stage.gpus[0].node, 1});
    return places;
  }

  double SlowestRate(const std::vector<std::pair<int, double>>& from,
                     const std::vector<std::pair<int, double>>& to) const {
    double rate = 1e18;
    for (const auto& a : from) {
      for (const auto& b : to) {
        rate = std::min(
            rate,
            in_.cluster.LinkBetween(a.first, b.first).bandwidth_bytes_per_s);
      }
    }
    return rate;
  }

  double SendSeconds(const Device& from, const Device& to) const {
    const int cut_stage = std::min(from.first, to.first);
    const OperatorCut cut = StageAt(cut_stage).plan.end;
    const double bytes =
        BoundaryBytes(in_.model.layers[cut.layer], cut.op,
                      in_.plan.pipeline_microbatch_size, in_.training);
    const auto here = PlacesOf(from);
    const auto there = PlacesOf(to);
    const double pairs =
        static_cast<double>(std::min(here.size(), there.size()));
    double slowest_s = bytes / (pairs * SlowestRate(here, there));
    for (const auto& place : here) {
      slowest_s = std::max(slowest_s,
                           place.second * bytes / SlowestRate({place}, there));
    }
    for (const auto& place : there) {
      slowest_s = std::max(slowest_s,
                           place.second * bytes / SlowestRate(here, {place}));
    }
    return slowest_s;
  }

  bool Relax(const Device& device, const std::vector<Pass>& order) {
    const int s = device.first;
    bool moves = false;
    double free_s = 0;
    std::map<char, double> link_free_s;
    for (const auto& [kind, m] : order) {
      double start_s = free_s;
      const int source = kind == 'F' ? s - 1 : s + 1;
      if (source >= 0 && source < in_.plan.num_stages()) {
        start_s = std::max(start_s, arrival_s_[{kind, s, m}]);
      }
      double& end_s = end_s_[{kind, s, m}];
      const double found_s = start_s + PassSeconds(kind, device);
      moves |= found_s > end_s;
      end_s = free_s = std::max(end_s, found_s);
      const int target = kind == 'F' ? s + 1 : s - 1;
      if (target < 0 || target >= in_.plan.num_stages()) continue;
      const double sent_s = std::max(free_s, link_free_s[kind]) +
                            SendSeconds(device, {target, routes_[target][m]});
      link_free_s[kind] = sent_s;
      double& arrival_s = arrival_s_[{kind, target, m}];
      moves |= sent_s > arrival_s;
      arrival_s = std::max(arrival_s, sent_s);
    }
    return moves;
  }

  // The time in which the groups of a stage add up their gradients of 2 bytes.
  double ExchangeSeconds(int s) const {
    const PlacedStage& stage = StageAt(s);
    if (stage.mixed.empty()) return 0;
    std::vector<int> nodes;
    size_t first = 0;
    for (const ReplicaGroup& group : stage.mixed.groups) {
      nodes.push_back(stage.gpus[first].node);
      first += group.parallelism.num_gpus();
    }
    double parameters = 0;
    for (int l = stage.plan.begin.layer; l < stage.plan.end.layer; ++l) {
      parameters += ParameterCount(in_.model.layers[l]);
    }
    double rate = 1e18;
    for (size_t g = 0; g < nodes.size(); ++g) {
      rate = std::min(
          rate, in_.cluster.LinkBetween(nodes[g], nodes[(g + 1) % nodes.size()])
                    .bandwidth_bytes_per_s);
    }
    const double n = static_cast<double>(nodes.size());
    return 2 * (n - 1) / n * 2 * parameters / rate;
  }

  double EndOfStage(int s) const {
    const double exchange_s = ExchangeSeconds(s);
    double reduced_s = 0;
    double optimizer_s = 0;
    for (int d = 0; d < NumDevices(s); ++d) {
      const auto [kind, m] = orders_.at({s, d}).back();
      for (const StageEvaluation& part : PartsOfDevice({s, d})) {
        reduced_s = std::max(
            reduced_s, end_s_.at({kind, s, m}) + part.sync_s - exchange_s);
        optimizer_s = std::max(optimizer_s, part.optimizer_s);
      }
    }
    return reduced_s + exchange_s + optimizer_s;
  }

  const Mixed& in_;
  const Evaluation& evaluation_;
  const int b_;
  std::vector<std::vector<int>> routes_;
  std::map<Device, std::vector<Pass>> orders_;
  std::map<std::tuple<char, int, int>, double> end_s_;
  std::map<std::tuple<char, int, int>, double> arrival_s_;
};

class RandomMixed {
 public:
  Mixed Next() {
    Mixed in;
    std::vector<int> nodes(in.cluster.nodes.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::shuffle(nodes.begin(), nodes.end(), generator_);
    PipelinePlan& plan = in.plan;
    plan.pipeline_microbatch_size = 8;
    const int b = Integer(2, 9);
    in.training.global_batch_size = 8 * b;
    const int p = Integer(1, 3);
    const int mixed = Integer(0, p - 1);  // At least this stage.
    for (int s = 0; s < p; ++s) {
      const int begin = 8 * s / p;
      const int end = 8 * (s + 1) / p;
      const int kind = s == mixed ? Integer(1, 2) : Integer(0, 2);
      if (kind == 0) {
        plan.stages.push_back(StageOn(begin, end, {.dp_degree = 4},
                                      NodeGpus(TakeNode(nodes), 4)));
      } else {
        plan.stages.push_back(NextMixed(begin, end, kind == 1, b, nodes));
      }
    }
    plan.schedule = Integer(0, 2) == 0 ? PipelineSchedule::kGpipe
                                       : PipelineSchedule::kOneFOneB;
    if (plan.schedule == PipelineSchedule::kOneFOneB && Integer(0, 1) == 0) {
      plan.warm_up_passes.assign(p, Integer(1, 3));
      for (int s = p - 2; s >= 0; --s) {
        plan.warm_up_passes[s] = plan.warm_up_passes[s + 1] + Integer(0, 3);
      }
    }
    return in;
  }

 private:
  PlacedStage NextMixed(int begin, int end, bool lock_step, int b,
                        std::vector<int>& nodes) {
    const int num_groups = std::min(Integer(2, 3), b);
    std::vector<ReplicaGroup> groups;
    std::vector<GpuId> gpus;
    int left = lock_step ? 8 : b;
    for (int g = 0; g < num_groups; ++g) {
      const int others = num_groups - g - 1;
      int share = others == 0 ? left : Integer(1, left - others);
      const int dp = (lock_step ? share : 8) % 2 == 0 ? Integer(1, 2) : 1;
      groups.push_back(
          {.parallelism = {.tp_degree = Integer(0, 1) + 1, .dp_degree = dp},
           .share = share});
      left -= share;
      const std::vector<GpuId> more =
          NodeGpus(TakeNode(nodes), groups.back().parallelism.num_gpus());
      gpus.insert(gpus.end(), more.begin(), more.end());
    }
    return MixedOn(
        begin, end,
        {.sharing = lock_step ? StageSharing::kLockStep : StageSharing::kRouted,
         .groups = groups},
        gpus);
  }

  static int TakeNode(std::vector<int>& nodes) {
    const int node = nodes.back();
    nodes.pop_back();
    return node;
  }
  int Integer(int low, int high) {
    return low + static_cast<int>(generator_() % (high - low + 1));
  }

  std::mt19937 generator_{11};
};

TEST(EvaluateMixedStagesPropertyTest, EqualsASimulationFromTheDefinition) {
  RandomMixed plans;
  for (int i = 0; i < 1000; ++i) {
    SCOPED_TRACE(i);
    const Mixed in = plans.Next();
    const Evaluation evaluation = in.Evaluate();
    ASSERT_FALSE(HasFailure());
    NaiveMixed naive(in, evaluation);
    ASSERT_NEAR(naive.IterationSeconds() / evaluation.iteration_time_s, 1,
                1e-9);
    for (int s = 0; s < in.plan.num_stages(); ++s) {
      const std::vector<StageEvaluation>& groups =
          evaluation.stages[s].replicas;
      for (size_t g = 0; g < groups.size(); ++g) {
        const int device =
            IsRouted(in.plan.stages[s]) ? static_cast<int>(g) : 0;
        ASSERT_EQ(groups[g].in_flight, naive.Held(s, device));
      }
    }
  }
}

}  // namespace
}  // namespace tangram
