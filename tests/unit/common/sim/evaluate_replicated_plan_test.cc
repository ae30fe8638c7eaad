#include "common/sim/evaluate_replicated_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/cost/model_state.h"
#include "common/sim/play_pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::StageOn;

// Two groups of three nodes. "a" is twice as fast as "b".
Cluster TwoGroups() {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 /= 2;
  return testing::TestCluster(
      {{.name = "a", .num_nodes = 3, .device = testing::TestDevice()},
       {.name = "b", .num_nodes = 3, .device = slow}});
}

struct Replicated {
  ModelSpec model = testing::TestModel(6);
  Cluster cluster = TwoGroups();
  TrainingOptions training = testing::TestTraining(24);
  ReplicatedPlan plan;

  ReplicatedEvaluation Evaluate() const {
    const absl::StatusOr<ReplicatedEvaluation> evaluation =
        EvaluateReplicatedPlan(model, cluster, training, plan);
    EXPECT_THAT(evaluation, testing::IsOk());
    return evaluation.ok() ? *evaluation : ReplicatedEvaluation();
  }
};

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
    const double r = static_cast<double>(num_pipelines);
    const bool shards = in_.plan.sync != ReplicaSync::kAllReduce;
    double largest = 0;
    for (const PipelineReplica& replica : in_.plan.pipelines) {
      largest = std::max(largest, replica.state_fraction);
    }
    if (in_.plan.sync == ReplicaSync::kZero2) {
      Push();
    } else if (num_pipelines > 1) {
      Exchange(GradientBytes(in_.training) *
               (shards ? (r - 1) * largest : 2 * (r - 1) / r));
    }
    for (size_t p = 0; p < num_pipelines; ++p) {
      for (size_t s = 0; s < ready_s_[p].size(); ++s) {
        ready_s_[p][s] += evaluation_.pipelines[p].stages[s].optimizer_s;
      }
    }
    double end_s = 0;
    if (shards && num_pipelines > 1) end_s = Exchange(2 * (r - 1) * largest);
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

  // Exchanges `bytes` per parameter of every layer. Returns the end.
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
      const double end_s =
          start_s + bytes * ParameterCount(in_.model.layers[next]) / Rate(next);
      last_s = std::max(last_s, end_s);
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        free_s_[NodeOf(r, next)] = end_s;
        double& ready_s = ready_s_[r][StageOf(r, next)];
        ready_s = std::max(ready_s, end_s);
      }
    }
    return last_s;
  }

  // The rate of the slowest hop of the ring, in bytes per second.
  double Rate(int layer) const {
    double rate = 1e18;
    for (size_t r = 0; r < ready_s_.size(); ++r) {
      const int from = NodeOf(r, layer);
      const int to = NodeOf((r + 1) % ready_s_.size(), layer);
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

// Four stages on two fast nodes, and one on a slow node.
Replicated FastAndSlow() {
  Replicated in;
  in.plan.pipelines = {
      {.plan = {.pipeline_microbatch_size = 2,
                .stages = {StageOn(0, 4, {.dp_degree = 2}, NodeGpus(0, 2)),
                           StageOn(4, 8, {.dp_degree = 2}, NodeGpus(1, 2))}},
       .num_microbatches = 8},
      {.plan = {.pipeline_microbatch_size = 4,
                .stages = {StageOn(0, 8, {.tp_degree = 4}, NodeGpus(3, 4))}},
       .num_microbatches = 2}};
  return in;
}

TEST(EvaluateReplicatedPlanTest, OnePipelineTakesWhatEvaluatePlanSays) {
  Replicated in = FastAndSlow();
  in.plan.pipelines.pop_back();
  in.training.global_batch_size = 16;
  ASSERT_OK_AND_ASSIGN(const Evaluation alone,
                       EvaluatePlan(in.model, in.cluster, in.training,
                                    in.plan.pipelines[0].plan));
  const ReplicatedEvaluation evaluation = in.Evaluate();
  EXPECT_EQ(evaluation.iteration_time_s, alone.iteration_time_s);
  EXPECT_EQ(evaluation.model_flops_utilization, alone.model_flops_utilization);
  EXPECT_EQ(evaluation.bubble_fraction, alone.bubble_fraction);
  EXPECT_EQ(evaluation.replica_sync_end_s, 0);
  EXPECT_EQ(evaluation.exposed_replica_sync_s, 0);
}

TEST(EvaluateReplicatedPlanTest, ShardedStateIsHeldInFractions) {
  Replicated in = FastAndSlow();
  const ReplicatedEvaluation whole = in.Evaluate();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.75;
  in.plan.pipelines[1].state_fraction = 0.25;
  const ReplicatedEvaluation sharded = in.Evaluate();
  for (size_t r = 0; r < 2; ++r) {
    const StageEvaluation& before = whole.pipelines[r].stages[0];
    const StageEvaluation& after = sharded.pipelines[r].stages[0];
    const double fraction = in.plan.pipelines[r].state_fraction;
    EXPECT_DOUBLE_EQ(after.optimizer_bytes, fraction * before.optimizer_bytes);
    EXPECT_DOUBLE_EQ(before.peak_bytes - after.peak_bytes,
                     before.optimizer_bytes - after.optimizer_bytes);
    EXPECT_DOUBLE_EQ(after.optimizer_s, fraction * before.optimizer_s);
  }
}

TEST(EvaluateReplicatedPlanTest, Zero2KeepsFractionsOfTheGradientsToo) {
  Replicated in = FastAndSlow();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.75;
  in.plan.pipelines[1].state_fraction = 0.25;
  const ReplicatedEvaluation zero1 = in.Evaluate();
  in.plan.sync = ReplicaSync::kZero2;
  const ReplicatedEvaluation zero2 = in.Evaluate();
  for (size_t r = 0; r < 2; ++r) {
    const StageEvaluation& before = zero1.pipelines[r].stages[0];
    const StageEvaluation& after = zero2.pipelines[r].stages[0];
    EXPECT_DOUBLE_EQ(after.gradient_bytes, in.plan.pipelines[r].state_fraction *
                                               before.gradient_bytes);
    EXPECT_EQ(after.optimizer_bytes, before.optimizer_bytes);
    // The gradients of one layer wait until they are sent.
    EXPECT_GT(after.transient_bytes, before.transient_bytes);
    EXPECT_LT(after.static_bytes, before.static_bytes);
  }
  // The exchange begins with the first backward passes, and moves more bytes.
  EXPECT_LT(zero2.replica_sync_start_s, zero1.replica_sync_start_s);
  EXPECT_GT(zero2.replica_sync_end_s, zero1.replica_sync_end_s);
}

TEST(EvaluateReplicatedPlanTest, TimelinesShowTheExchangeAndThenOptimizers) {
  for (const ReplicaSync sync : kReplicaSyncs) {
    Replicated in = FastAndSlow();
    in.plan.sync = sync;
    if (sync != ReplicaSync::kAllReduce) {
      for (PipelineReplica& r : in.plan.pipelines) r.state_fraction = 0.5;
    }
    std::vector<std::vector<TimelineEvent>> timelines;
    ASSERT_OK_AND_ASSIGN(
        const ReplicatedEvaluation evaluation,
        EvaluateReplicatedPlan(in.model, in.cluster, in.training, in.plan,
                               &timelines));
    ASSERT_EQ(timelines.size(), 2u);
    double last_s = 0;
    double first_exchange_s = 1e9;
    for (const std::vector<TimelineEvent>& timeline : timelines) {
      std::map<int, int> optimizers;
      for (size_t i = 0; i < timeline.size(); ++i) {
        const TimelineEvent& event = timeline[i];
        last_s = std::max(last_s, event.end_s);
        optimizers[event.stage] +=
            event.kind == TimelineEvent::Kind::kOptimizer ? 1 : 0;
        if (event.kind == TimelineEvent::Kind::kReplicaSync) {
          first_exchange_s = std::min(first_exchange_s, event.start_s);
        }
        if (i == 0) continue;
        const TimelineEvent& before = timeline[i - 1];
        EXPECT_LE(std::tie(before.stage, before.start_s),
                  std::tie(event.stage, event.start_s));
      }
      for (const auto& [stage, count] : optimizers) EXPECT_EQ(count, 1);
    }
    EXPECT_DOUBLE_EQ(last_s, evaluation.iteration_time_s);
    EXPECT_DOUBLE_EQ(first_exchange_s, evaluation.replica_sync_start_s);
  }
}

TEST(EvaluateReplicatedPlanTest, ShardedStateOnTheHostIsHeldInFractions) {
  Replicated in = FastAndSlow();
  for (Node& node : in.cluster.nodes) {
    node.device.host = {.bandwidth_bytes_per_s = 10e9, .memory_bytes = 64e9};
  }
  for (PipelineReplica& replica : in.plan.pipelines) {
    for (PlacedStage& stage : replica.plan.stages) {
      stage.plan.offload.optimizer = 1;
    }
  }
  const ReplicatedEvaluation whole = in.Evaluate();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.75;
  in.plan.pipelines[1].state_fraction = 0.25;
  const ReplicatedEvaluation sharded = in.Evaluate();
  for (size_t r = 0; r < 2; ++r) {
    const StageEvaluation& before = whole.pipelines[r].stages[0];
    const StageEvaluation& after = sharded.pipelines[r].stages[0];
    ASSERT_GT(before.host_bytes, 0);
    EXPECT_DOUBLE_EQ(after.host_bytes,
                     in.plan.pipelines[r].state_fraction * before.host_bytes);
    // Copying the state takes less time, too.
    EXPECT_LT(after.optimizer_s, before.optimizer_s);
    EXPECT_LE(after.peak_bytes, before.peak_bytes);
  }
}

TEST(EvaluateReplicatedPlanTest, APipelineMayHaveMixedStages) {
  Replicated in = FastAndSlow();
  PlacedStage& stage = in.plan.pipelines[1].plan.stages[0];
  stage = testing::MixedOn(
      0, 8,
      {.sharing = StageSharing::kRouted,
       .groups = {{.parallelism = {.tp_degree = 2}, .share = 1},
                  {.parallelism = {.dp_degree = 2}, .share = 1}}},
      NodeGpus(3, 4));
  const ReplicatedEvaluation evaluation = in.Evaluate();
  EXPECT_EQ(evaluation.pipelines[1].stages[0].replicas.size(), 2u);
  EXPECT_GE(evaluation.iteration_time_s,
            evaluation.pipelines[1].iteration_time_s);
  // Alone, the pipeline takes what EvaluatePlan says.
  in.plan.pipelines.erase(in.plan.pipelines.begin());
  in.training.global_batch_size = 8;
  ASSERT_OK_AND_ASSIGN(const Evaluation alone,
                       EvaluatePlan(in.model, in.cluster, in.training,
                                    in.plan.pipelines[0].plan));
  EXPECT_NEAR(in.Evaluate().iteration_time_s / alone.iteration_time_s, 1,
              1e-12);
}

TEST(EvaluateReplicatedPlanTest, ViolationsAreCountedWithTheFractionOfState) {
  Replicated in = FastAndSlow();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.9;
  in.plan.pipelines[1].state_fraction = 0.1;
  const double needed = in.Evaluate().pipelines[1].stages[0].peak_bytes;
  in.cluster.nodes[3].device.memory_bytes = 1.01 * needed;
  EXPECT_TRUE(in.Evaluate().fits());
  in.plan.pipelines[0].state_fraction = 0.1;
  in.plan.pipelines[1].state_fraction = 0.9;
  const ReplicatedEvaluation full = in.Evaluate();
  EXPECT_FALSE(full.fits());
  EXPECT_EQ(full.pipelines[1].violations.size(), 1u);
}

// Pipelines of one stage on a GPU each, with `microbatches` of one sample.
Replicated OneGpuPipelines(int num_pipelines, int microbatches) {
  Replicated in;
  for (int r = 0; r < num_pipelines; ++r) {
    in.plan.pipelines.push_back(
        {.plan = {.pipeline_microbatch_size = 1,
                  .stages = {StageOn(0, 8, {}, NodeGpus(r, 1))}},
         .num_microbatches = microbatches});
  }
  in.training = testing::TestTraining(num_pipelines * microbatches);
  return in;
}

size_t NumEventsOf(const Replicated& in) {
  std::vector<std::vector<TimelineEvent>> timelines;
  EXPECT_THAT(EvaluateReplicatedPlan(in.model, in.cluster, in.training, in.plan,
                                     &timelines),
              testing::IsOk());
  size_t num_events = 0;
  for (const auto& timeline : timelines) num_events += timeline.size();
  return num_events;
}

TEST(EvaluateReplicatedPlanTest, BoundsTheEventsOfAllPipelinesTogether) {
  // A forward and a backward pass of each microbatch. With the exchange and the
  // optimizer, four pipelines have a few more than the limit.
  const int microbatches = kMaxTimelineEvents / 8;
  EXPECT_GT(NumEventsOf(OneGpuPipelines(3, microbatches)), 0u);
  EXPECT_EQ(NumEventsOf(OneGpuPipelines(4, microbatches)), 0u);
}

}  // namespace
}  // namespace tangram
