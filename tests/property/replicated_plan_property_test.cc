#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "common/cost/parameter_bytes.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/replicated_request.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::Replicated;
using testing::StageOn;

// Simulates 1F1B, GPipe and ZB-H1 from their definitions, as the fixed point of
// "an event starts when the events that it waits for have ended". Returns the
// end of the passes of each device.
class NaivePipeline {
 public:
  NaivePipeline(const PipelinePlan& plan, const Evaluation& evaluation,
                int num_microbatches)
      : plan_(plan), evaluation_(evaluation), b_(num_microbatches) {}

  std::vector<double> Play() {
    const int p = plan_.num_stages();
    for (int s = 0; s < p; ++s) orders_.push_back(OrderOf(s));
    for (bool changes = true; changes;) {
      changes = false;
      for (int s = 0; s < p; ++s) changes |= Relax(s);
    }
    std::vector<double> ends;
    for (const auto& order : orders_) ends.push_back(end_s_[order.back()]);
    return ends;
  }

  // Returns the ends of the passes of stage `s` that complete the gradients of
  // a microbatch, ascending.
  std::vector<double> GradientEnds(int s) const {
    const bool splits = plan_.schedule == PipelineSchedule::kZeroBubbleH1;
    std::vector<double> ends;
    for (int m = 0; m < b_; ++m) {
      ends.push_back(end_s_.at({splits ? 'W' : 'B', s, m}));
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }

 private:
  // 'F', 'B', 'W'; 'A' and 'G' are transfers to the next and previous stage.
  using Event = std::tuple<char, int, int>;  // Stage, microbatch.

  std::vector<Event> OrderOf(int s) const {
    const int p = plan_.num_stages();
    const bool splits = plan_.schedule == PipelineSchedule::kZeroBubbleH1;
    int before = plan_.schedule == PipelineSchedule::kGpipe ? b_ : p - s;
    if (!plan_.warm_up_passes.empty()) before = plan_.warm_up_passes[s];
    before = std::min(before, b_);
    std::vector<Event> order;
    int weights = 0;
    for (int m = 0; m < before; ++m) order.push_back({'F', s, m});
    for (int m = 0; m < b_; ++m) {
      order.push_back({'B', s, m});
      if (splits && m >= s) order.push_back({'W', s, weights++});
      if (before + m < b_) order.push_back({'F', s, before + m});
    }
    while (splits && weights < b_) order.push_back({'W', s, weights++});
    return order;
  }

  double Seconds(char kind, int s) const {
    const StageEvaluation& stage = evaluation_.stages[s];
    const bool splits = plan_.schedule == PipelineSchedule::kZeroBubbleH1;
    // Without recomputation or copies, weight gradients take half of the
    // backward pass without collectives.
    const double weight_s =
        splits ? (stage.backward_s - stage.collective_s / 2) / 2 : 0;
    switch (kind) {
      case 'F':
        return stage.forward_s;
      case 'B':
        return stage.backward_s - weight_s;
      case 'W':
        return weight_s;
      case 'A':
        return stage.send_s / 2;
      default:
        return evaluation_.stages[s - 1].send_s / 2;
    }
  }

  // Places an event after the events that it waits for. Returns whether it
  // moved.
  bool Put(const Event& event, double start_s) {
    const auto [kind, s, m] = event;
    double& end_s = end_s_[event];
    const double found_s = start_s + Seconds(kind, s);
    const bool moved = found_s > end_s;
    end_s = std::max(end_s, found_s);
    return moved;
  }

  bool Relax(int s) {
    const int p = plan_.num_stages();
    bool moved = false;
    double free_s = 0;
    double link_s[2] = {0, 0};
    for (const Event& event : orders_[s]) {
      const auto [kind, stage, m] = event;
      double start_s = free_s;
      if (kind == 'F' && s > 0) {
        start_s = std::max(start_s, end_s_[{'A', s - 1, m}]);
      }
      if (kind == 'B' && s + 1 < p) {
        start_s = std::max(start_s, end_s_[{'G', s + 1, m}]);
      }
      moved |= Put(event, start_s);
      free_s = end_s_[event];
      const bool sends = (kind == 'F' && s + 1 < p) || (kind == 'B' && s > 0);
      if (!sends) continue;
      const Event transfer = {kind == 'F' ? 'A' : 'G', s, m};
      double& link = link_s[kind == 'F' ? 0 : 1];
      moved |= Put(transfer, std::max(free_s, link));
      link = end_s_[transfer];
    }
    return moved;
  }

  const PipelinePlan& plan_;
  const Evaluation& evaluation_;
  const int b_;
  std::vector<std::vector<Event>> orders_;
  std::map<Event, double> end_s_;
};

// Evaluates the same plan layer by layer, from the definition. The gradients of
// a layer are exchanged once the last pipeline has them, over the links of the
// nodes that hold it. Each device runs its optimizer once the gradients of its
// layers have arrived.
class NaiveReplicas {
 public:
  NaiveReplicas(const Replicated& in, const ReplicatedEvaluation& evaluation)
      : in_(in), evaluation_(evaluation), free_s_(in.cluster.nodes.size()) {}

  double IterationSeconds() {
    const size_t num_pipelines = in_.plan.pipelines.size();
    for (size_t r = 0; r < num_pipelines; ++r) {
      const PipelineReplica& replica = in_.plan.pipelines[r];
      NaivePipeline pipeline(replica.plan, evaluation_.pipelines[r],
                             replica.num_microbatches);
      ready_s_.push_back(pipeline.Play());
      gradient_ends_s_.emplace_back();
      for (size_t s = 0; s < ready_s_[r].size(); ++s) {
        ready_s_[r][s] += evaluation_.pipelines[r].stages[s].sync_s;
        gradient_ends_s_[r].push_back(
            pipeline.GradientEnds(static_cast<int>(s)));
        gradient_ends_s_[r][s].back() = ready_s_[r][s];
      }
    }
    const bool shards = in_.plan.sync != ReplicaSync::kAllReduce;
    if (in_.plan.sync == ReplicaSync::kZero2) {
      Push();
    } else if (num_pipelines > 1) {
      Exchange(GradientBytes(in_.training));
    }
    for (size_t p = 0; p < num_pipelines; ++p) {
      for (size_t s = 0; s < ready_s_[p].size(); ++s) {
        ready_s_[p][s] += evaluation_.pipelines[p].stages[s].optimizer_s;
      }
    }
    double end_s = 0;
    if (shards && num_pipelines > 1) end_s = Exchange(2);
    for (const auto& pipeline : ready_s_) {
      end_s =
          std::max(end_s, *std::max_element(pipeline.begin(), pipeline.end()));
    }
    return end_s;
  }

 private:
  int StageOf(size_t r, int layer) const {
    const PipelinePlan& plan = in_.plan.pipelines[r].plan;
    int s = 0;
    while (plan.stages[s].plan.end.layer <= layer) ++s;
    return s;
  }
  int NodeOf(size_t r, int layer) const {
    return in_.plan.pipelines[r].plan.stages[StageOf(r, layer)].gpus[0].node;
  }

  // Sends the gradients of each layer and microbatch to the other pipelines, as
  // soon as they are there. The other pipelines get them one after the other.
  void Push() {
    struct Transfer {
      double release_s = 0;
      double duration_s = 0;
      int layer = 0;
    };
    std::vector<Transfer> left;
    for (size_t r = ready_s_.size(); r-- > 0;) {
      for (int layer = in_.model.num_layers() - 1; layer >= 0; --layer) {
        double duration_s = 0;
        for (size_t q = 0; q < ready_s_.size(); ++q) {
          if (q == r) continue;
          duration_s +=
              in_.plan.pipelines[q].state_fraction *
              GradientBytes(in_.training) *
              ParameterCount(in_.model.layers[layer]) /
              in_.cluster.LinkBetween(NodeOf(r, layer), NodeOf(q, layer))
                  .bandwidth_bytes_per_s;
        }
        for (const double end_s : gradient_ends_s_[r][StageOf(r, layer)]) {
          left.push_back({end_s, duration_s, layer});
        }
      }
    }
    std::stable_sort(left.begin(), left.end(),
                     [](const Transfer& a, const Transfer& b) {
                       return a.release_s < b.release_s;
                     });
    for (const Transfer& transfer : left) {
      double end_s = transfer.release_s;
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        end_s = std::max(end_s, free_s_[NodeOf(r, transfer.layer)]);
      }
      end_s += transfer.duration_s;
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        free_s_[NodeOf(r, transfer.layer)] = end_s;
        double& ready_s = ready_s_[r][StageOf(r, transfer.layer)];
        ready_s = std::max(ready_s, end_s);
      }
    }
  }

  // Exchanges all parameters of every layer, of `bytes` each. Returns the end.
  double Exchange(double bytes) {
    const int num_layers = in_.model.num_layers();
    const std::vector<std::vector<double>> released_s = ready_s_;
    const auto released = [&](int layer) {
      double at_s = 0;
      for (size_t r = 0; r < released_s.size(); ++r) {
        at_s = std::max(at_s, released_s[r][StageOf(r, layer)]);
      }
      return at_s;
    };
    std::vector<bool> done(num_layers);
    double last_s = 0;
    for (int turn = 0; turn < num_layers; ++turn) {
      int next = -1;
      for (int layer = num_layers - 1; layer >= 0; --layer) {
        if (done[layer]) continue;
        if (next < 0 || released(layer) < released(next)) next = layer;
      }
      done[next] = true;
      double start_s = released(next);
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        start_s = std::max(start_s, free_s_[NodeOf(r, next)]);
      }
      const double end_s = start_s + bytes * SecondsPerByte(next) *
                                         ParameterCount(in_.model.layers[next]);
      last_s = std::max(last_s, end_s);
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        free_s_[NodeOf(r, next)] = end_s;
        double& ready_s = ready_s_[r][StageOf(r, next)];
        ready_s = std::max(ready_s, end_s);
      }
    }
    return last_s;
  }

  // The part of each byte of a layer that a ring of pipelines carries. `whole`:
  // the state that they have together.
  double Carried(const std::vector<size_t>& pipelines, double whole) const {
    const double r = static_cast<double>(pipelines.size());
    if (in_.plan.sync == ReplicaSync::kAllReduce) return 2 * (r - 1) / r;
    double largest = 0;
    for (const size_t p : pipelines) {
      largest = std::max(largest, in_.plan.pipelines[p].state_fraction / whole);
    }
    return (r - 1) * largest;
  }

  // The seconds for a byte of a layer: in a ring of all pipelines, or, if two
  // of three are on one of the two groups of nodes, in a ring of these and one
  // between the groups.
  double SecondsPerByte(int layer) const {
    std::vector<size_t> all;
    std::vector<std::vector<size_t>> by_group(2);
    for (size_t r = 0; r < ready_s_.size(); ++r) {
      all.push_back(r);
      by_group[in_.cluster.nodes[NodeOf(r, layer)].group].push_back(r);
    }
    const double one_ring = Carried(all, 1) / Rate(all, layer);
    if (all.size() < 3 || by_group[0].empty() || by_group[1].empty()) {
      return one_ring;
    }
    double inside = 0;
    double between = 1;  // All-reduce of two.
    double largest = 0;
    for (const std::vector<size_t>& pipelines : by_group) {
      double state = 0;
      for (const size_t p : pipelines) {
        state += in_.plan.pipelines[p].state_fraction;
      }
      largest = std::max(largest, state);
      if (pipelines.size() == 1) continue;
      inside = Carried(pipelines, state) / Rate(pipelines, layer);
    }
    if (in_.plan.sync != ReplicaSync::kAllReduce) between = largest;
    return std::min(one_ring, inside + between / Rate(all, layer));
  }

  // The rate of the slowest hop of the ring, in bytes per second.
  double Rate(const std::vector<size_t>& pipelines, int layer) const {
    double rate = 1e18;
    for (size_t i = 0; i < pipelines.size(); ++i) {
      const int from = NodeOf(pipelines[i], layer);
      const int to = NodeOf(pipelines[(i + 1) % pipelines.size()], layer);
      rate = std::min(rate,
                      in_.cluster.LinkBetween(from, to).bandwidth_bytes_per_s);
    }
    return rate;
  }

  const Replicated& in_;
  const ReplicatedEvaluation& evaluation_;
  std::vector<double> free_s_;  // By node.
  // By pipeline, stage and microbatch.
  std::vector<std::vector<std::vector<double>>> gradient_ends_s_;
  std::vector<std::vector<double>> ready_s_;  // By pipeline and stage.
};

class RandomReplicated {
 public:
  Replicated Next() {
    Replicated in;
    std::vector<int> nodes(6);
    std::iota(nodes.begin(), nodes.end(), 0);
    std::shuffle(nodes.begin(), nodes.end(), generator_);
    const int num_pipelines = Integer(1, 3);
    in.plan.sync = kReplicaSyncs[Integer(0, 2)];
    const bool shards = in.plan.sync != ReplicaSync::kAllReduce;
    int samples = 0;
    double fraction_left = 1;
    for (int r = 0; r < num_pipelines; ++r) {
      PipelineReplica replica =
          NextPipeline(in, nodes[2 * r], nodes[2 * r + 1]);
      if (shards) {
        const bool is_last = r + 1 == num_pipelines;
        replica.state_fraction =
            is_last ? fraction_left : fraction_left * Integer(1, 9) / 10;
        fraction_left -= replica.state_fraction;
      }
      samples +=
          replica.num_microbatches * replica.plan.pipeline_microbatch_size;
      in.plan.pipelines.push_back(std::move(replica));
    }
    in.training.global_batch_size = samples;
    return in;
  }

 private:
  // Returns a pipeline of one to four stages on two nodes.
  PipelineReplica NextPipeline(const Replicated& in, int node, int other) {
    PipelineReplica replica = {.num_microbatches = Integer(1, 9)};
    PipelinePlan& plan = replica.plan;
    const int p = Integer(1, 4);
    const std::vector<std::pair<int, int>> places = {
        {node, 0}, {node, 2}, {other, 0}, {other, 2}};
    std::vector<int> cuts(in.model.num_layers() - 1);
    std::iota(cuts.begin(), cuts.end(), 1);
    std::shuffle(cuts.begin(), cuts.end(), generator_);
    cuts.resize(p - 1);
    cuts.push_back(in.model.num_layers());
    std::sort(cuts.begin(), cuts.end());
    int begin = 0;
    for (int s = 0; s < p; ++s) {
      const bool tensor = Integer(0, 1) == 0;
      plan.stages.push_back(
          StageOn(begin, cuts[s],
                  {.tp_degree = tensor ? 2 : 1, .dp_degree = tensor ? 1 : 2},
                  NodeGpus(places[s].first, 2, places[s].second)));
      begin = cuts[s];
    }
    plan.pipeline_microbatch_size = 2 * Integer(1, 2);
    constexpr PipelineSchedule kSchedules[] = {
        PipelineSchedule::kGpipe, PipelineSchedule::kOneFOneB,
        PipelineSchedule::kOneFOneB, PipelineSchedule::kZeroBubbleH1};
    plan.schedule = kSchedules[Integer(0, 3)];
    if (plan.schedule == PipelineSchedule::kOneFOneB && Integer(0, 1) == 0) {
      plan.warm_up_passes.assign(p, 1);
      for (int s = p - 2; s >= 0; --s) {
        plan.warm_up_passes[s] = plan.warm_up_passes[s + 1] + Integer(0, 3);
      }
    }
    return replica;
  }

  int Integer(int low, int high) {
    return low + static_cast<int>(generator_() % (high - low + 1));
  }

  std::mt19937 generator_{6};
};

TEST(EvaluateReplicatedPlanPropertyTest, EqualsASimulationFromTheDefinition) {
  RandomReplicated plans;
  for (int i = 0; i < 1000; ++i) {
    SCOPED_TRACE(i);
    const Replicated in = plans.Next();
    const ReplicatedEvaluation evaluation = in.Evaluate();
    ASSERT_FALSE(HasFailure());
    ASSERT_NEAR(NaiveReplicas(in, evaluation).IterationSeconds() /
                    evaluation.iteration_time_s,
                1, 1e-9);
  }
}

}  // namespace
}  // namespace tangram
