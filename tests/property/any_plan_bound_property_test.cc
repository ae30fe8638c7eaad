// No plan of any kind is faster than the bound for any plan at all. Checked on
// random clusters, models, training options and plans, which need not fit.
//
// TANGRAM_BOUND_PLANS sets the number of plans.

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/domain/stage_limits.h"
#include "common/domain/stage_part.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "coordinator/bounds/any_plan_bound.h"
#include "formats/config/device_catalogue.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/number_from_environment.h"

namespace tangram {
namespace {

using testing::TestGroup;

constexpr int kUsualPlans = 400;

int NumPlans() {
  return testing::NumberFromEnvironment("TANGRAM_BOUND_PLANS", kUsualPlans);
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : rng_(seed) {}

  int Below(int n) { return static_cast<int>(rng_() % n); }
  bool OneIn(int n) { return Below(n) == 0; }
  template <typename T>
  T Of(const std::vector<T>& list) {
    return list[Below(static_cast<int>(list.size()))];
  }
  int Divisor(int n) {
    std::vector<int> divisors;
    for (int d = 1; d <= n; ++d) {
      if (n % d == 0) divisors.push_back(d);
    }
    return Of(divisors);
  }
  std::mt19937& rng() { return rng_; }

 private:
  std::mt19937 rng_;
};

// A plan, and what it is evaluated on.
struct Case {
  ModelSpec model;
  Cluster cluster;
  TrainingOptions training;
  ReplicatedPlan plan;
};

Cluster DrawCluster(Draw& draw) {
  const std::vector<std::string> types = {"T4",      "V100-16", "A100-40", "L4",
                                          "A100-80", "H100",    "V100-32"};
  std::vector<TestGroup> groups;
  const int num_groups = 1 + draw.Below(3);
  for (int g = 0; g < num_groups; ++g) {
    DeviceSpec device = draw.OneIn(5) ? testing::TestDevice("TEST")
                                      : FindDevice(draw.Of(types))->device;
    if (draw.OneIn(6)) device.efficiency.odd_penalty = 0.1;
    if (draw.OneIn(6)) device.efficiency.memory_fraction *= 0.3;
    if (draw.OneIn(8)) device.peak_flops.bf16 = 0;
    if (draw.OneIn(8)) device.supports_flash_attention ^= true;
    device.host = {.bandwidth_bytes_per_s = 1e10, .memory_bytes = 1e11};
    groups.push_back({.name = "g" + std::to_string(g),
                      .num_nodes = 1 + draw.Below(3),
                      .gpus_per_node = 1 + draw.Below(4),
                      .device = device});
  }
  // Links hardly matter if they take no time.
  return testing::TestCluster(groups, draw.OneIn(2) ? 1e15 : 2e9);
}

ModelSpec DrawModel(Draw& draw) {
  const int layers = 1 + draw.Below(6);
  const int hidden = 256 << draw.Below(4);
  ModelSpec model = draw.OneIn(4) ? testing::TestMoeModel(layers, hidden)
                                  : testing::TestModel(layers, hidden);
  const bool odd = draw.OneIn(3);
  const bool gated = draw.OneIn(2);
  const bool shares_heads = draw.OneIn(3);
  const bool tied = draw.OneIn(3);
  const bool window = draw.OneIn(4);
  const bool norms = draw.OneIn(4);
  const bool latent = draw.OneIn(5);
  const bool narrow = draw.OneIn(2);  // Experts, if there are any.
  for (LayerSpec& layer : model.layers) {
    layer.tied_embeddings = tied;
    if (layer.kind != LayerKind::kTransformer) {
      if (odd) layer.vocab_size = 50257;
      continue;
    }
    layer.gated_mlp = gated;
    layer.qk_norm = norms;
    if (odd && layer.ffn_hidden_size > 0) layer.ffn_hidden_size += 24;
    if (latent) {
      layer.q_lora_rank = 96;
      layer.kv_lora_rank = 40;
      layer.rope_head_dim = 16;
    } else if (shares_heads) {
      layer.num_kv_heads = 2;
    }
    if (window) layer.sliding_window = 100;
    if (layer.is_moe() && odd) layer.shared_expert_ffn_hidden_size = 296;
    if (layer.is_moe() && narrow) layer.expert_latent_size = odd ? 252 : 256;
  }
  return model;
}

TrainingOptions DrawTraining(Draw& draw) {
  TrainingOptions training =
      testing::TestTraining(draw.Of<int>({1, 2, 6, 8, 12, 24, 32, 96}));
  training.sequence_length = draw.Of<int>({64, 512, 2048, 4096});
  training.precision = draw.Of<Precision>(
      {Precision::kFp16, Precision::kBf16, Precision::kFp32, Precision::kFp8});
  training.optimizer = draw.OneIn(3) ? Optimizer::kSgd : Optimizer::kAdam;
  training.flash_attention = draw.OneIn(2);
  training.dropout = draw.OneIn(2);
  training.fp32_gradients = draw.OneIn(3);
  training.overlap_grad_reduce = draw.OneIn(2);
  training.blocking_transfers = draw.OneIn(5);
  training.fused_loss = draw.OneIn(2);
  return training;
}

StageParallelism DrawDegrees(Draw& draw, int num_gpus) {
  StageParallelism degrees;
  degrees.tp_degree = draw.OneIn(2) ? 1 : draw.Divisor(num_gpus);
  degrees.cp_degree =
      draw.OneIn(3) ? draw.Divisor(num_gpus / degrees.tp_degree) : 1;
  degrees.dp_degree = num_gpus / degrees.tp_degree / degrees.cp_degree;
  degrees.zero_stage = draw.Below(4);
  degrees.sequence_parallel = degrees.tp_degree > 1 && draw.OneIn(2);
  if (!degrees.sequence_parallel && draw.OneIn(4)) {
    degrees.tp_y_degree = draw.Divisor(degrees.tp_degree);
  }
  if (draw.OneIn(3)) {
    degrees.ep_degree = draw.Divisor(degrees.cp_degree * degrees.dp_degree);
    degrees.fsep = degrees.ep_degree > 1 && draw.OneIn(3);
  }
  if (draw.OneIn(2)) {
    SetZero({.zero_degree = 2}, degrees.zero_stage, degrees);
  }
  return degrees;
}

// Returns `count` of 1 to n − 1, ascending and distinct.
std::vector<int> DrawBorders(Draw& draw, int count, int n) {
  std::vector<int> all(n - 1);
  std::iota(all.begin(), all.end(), 1);
  std::shuffle(all.begin(), all.end(), draw.rng());
  all.resize(std::min<size_t>(count, all.size()));
  std::sort(all.begin(), all.end());
  return all;
}

// Sets the cuts and what is recomputed and kept on the host.
void CoverModel(Draw& draw, const ModelSpec& model, int num_stages,
                PipelinePlan& plan) {
  std::vector<OperatorCut> cuts;
  for (int l = 0; l < model.num_layers(); ++l) {
    const int num_ops = static_cast<int>(OperatorsOf(model.layers[l]).size());
    for (int op = 0; op < num_ops; ++op) cuts.push_back({l, op});
  }
  const std::vector<int> borders =
      DrawBorders(draw, num_stages - 1, static_cast<int>(cuts.size()));
  cuts.push_back({model.num_layers(), 0});
  for (int s = 0; s < num_stages; ++s) {
    StagePlan& stage = plan.stages[s].plan;
    stage.begin = s == 0 ? cuts.front() : cuts[borders[s - 1]];
    stage.end = s + 1 == num_stages ? cuts.back() : cuts[borders[s]];
    stage.recompute.clear();
    for (int l = 0; l < LayersTouched(stage.begin, stage.end); ++l) {
      const auto num_ops =
          OperatorsOf(model.layers[stage.begin.layer + l]).size();
      const OpMask all = (OpMask{1} << num_ops) - 1;
      stage.recompute.push_back(
          {1, draw.OneIn(2) ? kRecomputeNone
                            : static_cast<OpMask>(draw.rng()()) & all});
    }
    if (draw.OneIn(5)) stage.offload.optimizer = 0.5;
    if (draw.OneIn(5)) stage.offload.activations = 1;
  }
}

// Makes a stage of unlike replicas of one that has no other degrees than dp.
void Mix(Draw& draw, int microbatch, int num_microbatches, PlacedStage& stage) {
  const auto num_gpus = static_cast<int>(stage.gpus.size());
  MixedReplicas& mixed = stage.mixed;
  mixed.sharing =
      draw.OneIn(2) ? StageSharing::kLockStep : StageSharing::kRouted;
  const int shares =
      mixed.sharing == StageSharing::kLockStep ? microbatch : num_microbatches;
  if (num_gpus < 2 || shares < 2) return;
  const int first = 1 + draw.Below(num_gpus - 1);
  const int share = 1 + draw.Below(shares - 1);
  stage.plan.parallelism = {};
  mixed.groups = {{.parallelism = {.tp_degree = first}, .share = share},
                  {.parallelism = {.tp_degree = num_gpus - first},
                   .share = shares - share}};
}

PipelinePlan DrawPipeline(Draw& draw, const ModelSpec& model,
                          const std::vector<GpuId>& gpus, int share) {
  PipelinePlan plan;
  plan.schedule = draw.Of<PipelineSchedule>(
      {PipelineSchedule::kOneFOneB, PipelineSchedule::kOneFOneB,
       PipelineSchedule::kGpipe, PipelineSchedule::kZeroBubbleH1,
       PipelineSchedule::kInterleaved});
  const auto num_gpus = static_cast<int>(gpus.size());
  const int num_devices = 1 + draw.Below(std::min(num_gpus, 6));
  if (plan.schedule == PipelineSchedule::kInterleaved) {
    plan.virtual_stages = 2;
  }
  plan.pipeline_microbatch_size = draw.Divisor(share);
  const int num_microbatches = share / plan.pipeline_microbatch_size;
  std::vector<int> ends = DrawBorders(draw, num_devices - 1, num_gpus);
  ends.push_back(num_gpus);
  int begin = 0;
  for (const int end : ends) {
    PlacedStage& stage = plan.stages.emplace_back();
    stage.gpus.assign(gpus.begin() + begin, gpus.begin() + end);
    stage.plan.parallelism = DrawDegrees(draw, end - begin);
    begin = end;
  }
  const std::vector<PlacedStage> devices = plan.stages;
  for (int v = 1; v < plan.virtual_stages; ++v) {
    plan.stages.insert(plan.stages.end(), devices.begin(), devices.end());
  }
  if (plan.schedule == PipelineSchedule::kOneFOneB && draw.OneIn(4)) {
    for (size_t d = 0; d < devices.size(); ++d) {
      plan.warm_up_passes.push_back(
          static_cast<int>(2 * (devices.size() - d) - 1));
    }
  }
  CoverModel(draw, model, plan.num_stages(), plan);
  if (plan.virtual_stages == 1 && draw.OneIn(3)) {
    for (PlacedStage& stage : plan.stages) {
      if (draw.OneIn(2)) {
        Mix(draw, plan.pipeline_microbatch_size, num_microbatches, stage);
      }
    }
  }
  return plan;
}

// Returns a plan on some or all GPUs, each of which is in one pipeline at most.
Case DrawCase(uint32_t seed) {
  Draw draw(seed);
  Case drawn = {.model = DrawModel(draw),
                .cluster = DrawCluster(draw),
                .training = DrawTraining(draw)};
  std::vector<GpuId> gpus;
  for (int n = 0; n < static_cast<int>(drawn.cluster.nodes.size()); ++n) {
    for (int i = 0; i < drawn.cluster.nodes[n].num_gpus; ++i) {
      gpus.push_back({n, i});
    }
  }
  if (draw.OneIn(2)) std::shuffle(gpus.begin(), gpus.end(), draw.rng());
  if (draw.OneIn(3)) gpus.resize(1 + draw.Below(static_cast<int>(gpus.size())));
  const auto num_gpus = static_cast<int>(gpus.size());
  const int batch = drawn.training.global_batch_size;
  const int num_pipelines =
      draw.OneIn(3) ? 1 + draw.Below(std::min({num_gpus, batch, 3})) : 1;
  std::vector<int> gpu_ends = DrawBorders(draw, num_pipelines - 1, num_gpus);
  std::vector<int> batch_ends = DrawBorders(draw, num_pipelines - 1, batch);
  gpu_ends.push_back(num_gpus);
  batch_ends.push_back(batch);
  drawn.plan.sync = draw.Of<ReplicaSync>(
      {ReplicaSync::kAllReduce, ReplicaSync::kZero1, ReplicaSync::kZero2});
  for (int r = 0; r < num_pipelines; ++r) {
    const int first_gpu = r == 0 ? 0 : gpu_ends[r - 1];
    const int share = batch_ends[r] - (r == 0 ? 0 : batch_ends[r - 1]);
    PipelineReplica& replica = drawn.plan.pipelines.emplace_back();
    replica.plan = DrawPipeline(
        draw, drawn.model,
        {gpus.begin() + first_gpu, gpus.begin() + gpu_ends[r]}, share);
    replica.num_microbatches = share / replica.plan.pipeline_microbatch_size;
    if (drawn.plan.sync != ReplicaSync::kAllReduce) {
      replica.state_fraction = 1.0 / num_pipelines;
    }
  }
  return drawn;
}

// Returns the simulated time of a case; empty: the plan is not legal.
std::optional<double> SecondsOf(const Case& drawn) {
  if (drawn.plan.pipelines.size() == 1) {
    const absl::StatusOr<Evaluation> alone =
        EvaluatePlan(drawn.model, drawn.cluster, drawn.training,
                     drawn.plan.pipelines.front().plan);
    if (!alone.ok()) return std::nullopt;
    return alone->iteration_time_s;
  }
  const absl::StatusOr<ReplicatedEvaluation> several = EvaluateReplicatedPlan(
      drawn.model, drawn.cluster, drawn.training, drawn.plan);
  if (!several.ok()) return std::nullopt;
  return several->iteration_time_s;
}

TEST(AnyPlanBoundTest, NoPlanIsFaster) {
  int num_plans = 0;
  int num_replicated = 0;
  int num_mixed = 0;
  int num_close = 0;
  std::vector<int> by_schedule(4);
  std::vector<double> shares;
  for (uint32_t seed = 1; num_plans < NumPlans(); ++seed) {
    ASSERT_LT(seed, 1000U * NumPlans());
    const Case drawn = DrawCase(seed);
    const std::optional<double> seconds = SecondsOf(drawn);
    if (!seconds.has_value()) continue;
    ++num_plans;
    const double bound_s =
        AnyPlanSeconds(drawn.model, drawn.cluster, {}, drawn.training);
    EXPECT_GT(bound_s, 0) << "seed " << seed;
    EXPECT_LE(bound_s, *seconds) << "seed " << seed;
    const PipelinePlan& first = drawn.plan.pipelines.front().plan;
    num_replicated += drawn.plan.pipelines.size() > 1 ? 1 : 0;
    num_mixed += HasMixedStages(first) ? 1 : 0;
    num_close += bound_s > 0.5 * *seconds ? 1 : 0;
    ++by_schedule[static_cast<int>(first.schedule)];
    shares.push_back(bound_s / *seconds);
  }
  std::printf(
      "%d plans, %d of several pipelines, %d with mixed stages; %d at "
      "most twice the bound, the closest %.4f of it\n",
      num_plans, num_replicated, num_mixed, num_close,
      1 / *std::max_element(shares.begin(), shares.end()));
  EXPECT_GT(num_replicated, num_plans / 20);
  EXPECT_GT(num_mixed, num_plans / 50);
  EXPECT_GT(num_close, num_plans / 50);
  for (const int count : by_schedule) EXPECT_GT(count, num_plans / 50);
}

}  // namespace
}  // namespace tangram
