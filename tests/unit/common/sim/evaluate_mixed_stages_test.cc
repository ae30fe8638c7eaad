#include "common/sim/evaluate_mixed_stages.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/cost/measured_layer.h"
#include "common/cost/operator_cost.h"
#include "common/domain/measurements.h"
#include "common/domain/stage_part.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/share_batch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MixedOn;
using testing::NodeGpus;
using testing::StageOn;

// Two groups of five nodes. "a" is twice as fast as "b". Links take 10 GB/s
// inside a group, and 1 GB/s between groups.
Cluster FastAndSlowNodes() {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 /= 2;
  return testing::TestCluster(
      {{.name = "a", .num_nodes = 5, .device = testing::TestDevice()},
       {.name = "b", .num_nodes = 5, .device = slow}});
}

struct Mixed {
  ModelSpec model = testing::TestModel(6);
  Cluster cluster = FastAndSlowNodes();
  TrainingOptions training = testing::TestTraining(64);
  PipelinePlan plan;

  int num_microbatches() const {
    return training.global_batch_size / plan.pipeline_microbatch_size;
  }
  Evaluation Evaluate(std::vector<TimelineEvent>* timeline = nullptr) const {
    const absl::StatusOr<Evaluation> evaluation =
        EvaluatePlan(model, cluster, training, plan, timeline);
    EXPECT_THAT(evaluation, testing::IsOk());
    return evaluation.ok() ? *evaluation : Evaluation();
  }
};

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

// A stage over the whole model on a node of each group.
Mixed OneMixedStage(StageSharing sharing, int fast_share, int slow_share) {
  Mixed in;
  in.plan = {
      .pipeline_microbatch_size = 8,
      .stages = {MixedOn(
          0, 8,
          {.sharing = sharing,
           .groups = {{.parallelism = {.tp_degree = 4}, .share = fast_share},
                      {.parallelism = {.tp_degree = 2}, .share = slow_share}}},
          {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {5, 0}, {5, 1}})}};
  return in;
}

// Returns the figures of a stage of equal replicas in place of group `g`.
StageEvaluation FiguresAlone(const Mixed& mixed, size_t g, int samples) {
  Mixed in = mixed;
  const StagePart part = PartsOf(mixed.plan.stages[0], 8, 8)[g];
  in.plan.pipeline_microbatch_size = samples;
  in.training.global_batch_size = 8 * samples;
  in.plan.stages = {
      StageOn(0, 8, part.parallelism, {part.gpus.begin(), part.gpus.end()})};
  return in.Evaluate().stages[0];
}

TEST(EvaluateMixedStagesPropertyTest, LockStepTakesAsLongAsTheSlowestGroup) {
  for (int fast = 1; fast < 8; ++fast) {
    const Mixed in = OneMixedStage(StageSharing::kLockStep, fast, 8 - fast);
    const StageEvaluation stage = in.Evaluate().stages[0];
    const StageEvaluation a = FiguresAlone(in, 0, fast);
    const StageEvaluation b = FiguresAlone(in, 1, 8 - fast);
    EXPECT_EQ(stage.forward_s, std::max(a.forward_s, b.forward_s));
    EXPECT_EQ(stage.backward_s, std::max(a.backward_s, b.backward_s));
    // Memory is that of each group on its own device.
    EXPECT_EQ(stage.replicas[0].peak_bytes, a.peak_bytes);
    EXPECT_EQ(stage.replicas[1].peak_bytes, b.peak_bytes);
    EXPECT_EQ(stage.peak_bytes, std::max(a.peak_bytes, b.peak_bytes));
    EXPECT_DOUBLE_EQ(stage.passes_end_s,
                     8 * (stage.forward_s + stage.backward_s));
  }
}

TEST(EvaluateMixedStagesPropertyTest, RoutedGroupsTakeAMicrobatchEachPeriod) {
  for (int b = 2; b <= 40; ++b) {
    SCOPED_TRACE(b);
    Mixed in = OneMixedStage(StageSharing::kRouted, 1, b - 1);
    in.training.global_batch_size = 8 * b;
    const StageEvaluation first = in.Evaluate().stages[0];
    std::vector<PipelinePace> paces;
    double rate_per_s = 0;
    double slowest_s = 0;
    for (const StageEvaluation& group : first.replicas) {
      const double t_s = group.forward_s + group.backward_s;
      paces.push_back({.microbatch_s = t_s});
      rate_per_s += 1 / t_s;
      slowest_s = std::max(slowest_s, t_s);
    }
    const std::vector<int64_t> shares = ShareMicrobatches(paces, b);
    if (shares[1] == 0) continue;  // Then the stage has one group.
    for (size_t g = 0; g < 2; ++g) {
      in.plan.stages[0].mixed.groups[g].share = static_cast<int>(shares[g]);
    }
    const double end_s = in.Evaluate().stages[0].passes_end_s;
    // B · 1 / Σ (1 / t), rounded up by at most one microbatch.
    EXPECT_GE(end_s, b / rate_per_s * (1 - 1e-12));
    EXPECT_LE(end_s, b / rate_per_s + slowest_s);
  }
}

TEST(EvaluateMixedStagesTest, RoutedFiguresArePerMicrobatchOfThePipeline) {
  const Mixed in = OneMixedStage(StageSharing::kRouted, 6, 2);
  std::vector<TimelineEvent> timeline;
  const Evaluation evaluation = in.Evaluate(&timeline);
  const StageEvaluation& stage = evaluation.stages[0];
  const StageEvaluation& fast = stage.replicas[0];
  const StageEvaluation& slow = stage.replicas[1];
  EXPECT_DOUBLE_EQ(fast.busy_s, 6 * (fast.forward_s + fast.backward_s));
  EXPECT_DOUBLE_EQ(8 * (stage.forward_s + stage.backward_s),
                   std::max(fast.busy_s, slow.busy_s));
  EXPECT_DOUBLE_EQ(stage.busy_s, (4 * fast.busy_s + 2 * slow.busy_s) / 6);
  // Midpoints 1/12, 3/12, 1/4 (the second group), 5/12, ...
  std::vector<int> groups;
  for (const TimelineEvent& event : timeline) {
    if (event.kind != TimelineEvent::Kind::kForward) continue;
    groups.resize(8);
    groups[event.microbatch] = event.replica;
  }
  EXPECT_THAT(groups, ElementsAre(0, 0, 1, 0, 0, 0, 1, 0));
}

TEST(EvaluateMixedStagesTest, AViolationNamesTheGroup) {
  Mixed in = OneMixedStage(StageSharing::kRouted, 6, 2);
  in.cluster.nodes[5].device.memory_bytes = 1e6;
  const Evaluation evaluation = in.Evaluate();
  ASSERT_EQ(evaluation.violations.size(), 1u);
  EXPECT_THAT(evaluation.violations[0].reason,
              HasSubstr("GB on each GPU of group 1, which has 0.00 GB"));
  EXPECT_EQ(evaluation.stages[0].capacity_bytes, 1e6);
}

// Two equal groups in lock-step are one stage of twice the dp degree. Only the
// exchange of gradients has its own rings.
TEST(EvaluateMixedStagesTest, EqualGroupsInLockStepRunLikeEqualReplicas) {
  Mixed in;
  in.plan = {.pipeline_microbatch_size = 8,
             .stages = {MixedOn(
                 0, 8,
                 {.groups = {{.parallelism = {.tp_degree = 2}, .share = 4},
                             {.parallelism = {.tp_degree = 2}, .share = 4}}},
                 NodeGpus(0, 4))}};
  const Evaluation mixed = in.Evaluate();
  in.plan.stages = {
      StageOn(0, 8, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(0, 4))};
  const Evaluation equal = in.Evaluate();
  EXPECT_EQ(mixed.stages[0].passes_end_s, equal.stages[0].passes_end_s);
  EXPECT_EQ(mixed.stages[0].peak_bytes, equal.stages[0].peak_bytes);
  EXPECT_EQ(mixed.stages[0].optimizer_s, equal.stages[0].optimizer_s);
}

// Milliseconds of a layer: a line in the number of samples.
struct SampleLine {
  double slope_ms = 0;
  double intercept_ms = 0;
  double At(int samples) const { return slope_ms * samples + intercept_ms; }
};

// Cephalo (2411.01075), example/gpt_2.7b.json: GPT 2.7B, sequence 512, batch 64
// on two L4, an A6000 and a P40. The lines are those of its
// data/model_latencies.json (MIT), deepspeedgpt_2.7b, float16.
struct CephaloGpu {
  const char* type;
  SampleLine forward;
  SampleLine backward;
  int samples;  // Published.
};
constexpr CephaloGpu kCephaloGpus[] = {
    {"L4",
     {7.415035999999968, 1.1815040000000743},
     {10.946160000000095, 4.842823999999591},
     13},
    {"L4",
     {7.415035999999968, 1.1815040000000743},
     {10.946160000000095, 4.842823999999591},
     12},
    {"A6000",
     {2.8354779999999944, 0.6642140000000043},
     {4.221009999999934, 2.404014000000084},
     34},
    {"P40",
     {15.637328000000108, 4.132931999999664},
     {28.016862000000245, 1.877117999999627},
     5}};

// A device that has these times for `layer` and takes next to none for anything
// else.
DeviceSpec MeasuredDevice(const CephaloGpu& gpu, const LayerSpec& layer,
                          const TrainingOptions& training) {
  DeviceSpec device = testing::TestDevice(gpu.type);
  device.peak_flops = {.fp32 = 1e30, .fp16 = 1e30, .bf16 = 1e30, .fp8 = 1e30};
  device.memory_bandwidth_bytes_per_s = 1e30;
  for (const int samples : {1, 64}) {
    device.measured_layers.push_back(
        {.key = LayerMeasurementKey(layer, StageParallelism(), training,
                                    /*flash_attention=*/true),
         .samples = samples,
         .forward_s = gpu.forward.At(samples) / 1e3,
         .backward_s = gpu.backward.At(samples) / 1e3});
  }
  return device;
}

TEST(EvaluateMixedStagesTest, CephalosExampleComesOut) {
  constexpr int kLayers = 32;
  Mixed in = {.model = testing::TestModel(kLayers, /*hidden_size=*/2560),
              .training = testing::TestTraining(64)};
  std::vector<testing::TestGroup> nodes;
  std::vector<PipelinePace> paces;
  MixedReplicas mixed;
  for (const CephaloGpu& gpu : kCephaloGpus) {
    nodes.push_back(
        {.name = absl::StrCat("gpu", nodes.size()),
         .gpus_per_node = 1,
         .device = MeasuredDevice(gpu, in.model.layers[1], in.training)});
    mixed.groups.push_back({.share = gpu.samples});
    // Activations are recomputed, so a layer takes 2 F + B.
    paces.push_back(
        {.fill_s = 2 * gpu.forward.intercept_ms + gpu.backward.intercept_ms,
         .microbatch_s = 2 * gpu.forward.slope_ms + gpu.backward.slope_ms});
  }
  // The published samples are those that end first.
  EXPECT_THAT(ShareMicrobatches(paces, 64), ElementsAre(13, 12, 34, 5));

  in.cluster = testing::TestCluster(nodes);
  PlacedStage stage =
      MixedOn(0, kLayers + 2, mixed, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  const size_t num_ops = OperatorsOf(in.model.layers[1]).size();
  stage.plan.recompute = {
      {.num_layers = 1},
      {.num_layers = kLayers, .mask = (OpMask{1} << num_ops) - 1},
      {.num_layers = 1}};
  in.plan = {.pipeline_microbatch_size = 64, .stages = {stage}};
  const StageEvaluation figures = in.Evaluate().stages[0];
  EXPECT_NEAR(1e3 * (figures.forward_s + figures.backward_s) / kLayers, 342.297,
              5e-4);
  EXPECT_EQ(figures.forward_s, figures.replicas[0].forward_s);
}

}  // namespace
}  // namespace tangram
