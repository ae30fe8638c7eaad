#include "common/change/held_state.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "common/cost/operator_cost.h"
#include "common/cost/parameter_bytes.h"
#include "common/sim/stage_placement.h"

namespace tangram {
namespace {

// Shares of a tensor that differ by less are the same.
constexpr double kRounding = 1e-9;

// Adds the state of one stage.
class StageState {
 public:
  StageState(const ModelSpec& model, const Cluster& cluster,
             const TrainingOptions& training, int microbatch, HeldState& held)
      : model_(model),
        cluster_(cluster),
        training_(training),
        microbatch_(microbatch),
        bytes_(BytesOfParameter(training)),
        held_(held) {}

  void Add(const StagePlan& plan, const StageParallelism& parallelism,
           absl::Span<const GpuId> gpus) {
    const auto first_holder = static_cast<int>(held_.gpus.size());
    for (const GpuId& gpu : gpus) {
      held_.gpus.push_back({cluster_.nodes[gpu.node].name, gpu.index});
    }
    const PlacedGpus placed = PlacedGpusOf(cluster_, gpus);
    const StageEnvironment environment =
        placed.Environment(training_, microbatch_);
    for (int layer = plan.begin.layer;
         layer < plan.end.layer + (plan.end.op > 0 ? 1 : 0); ++layer) {
      AddLayer(layer, plan, parallelism, environment, first_holder,
               static_cast<int>(gpus.size()));
    }
  }

 private:
  void AddLayer(int layer, const StagePlan& plan,
                const StageParallelism& parallelism,
                const StageEnvironment& environment, int first_holder,
                int num_gpus) {
    const LayerSpec& spec = model_.layers[layer];
    const std::vector<OperatorCost> split =
        EstimateOperators(spec, parallelism, environment);
    const std::vector<OperatorCost> whole =
        EstimateOperators(spec, StageParallelism(), environment);
    const int begin = layer == plan.begin.layer ? plan.begin.op : 0;
    const int end =
        layer == plan.end.layer ? plan.end.op : static_cast<int>(whole.size());
    const int tp = parallelism.tp_degree;
    const int shards = parallelism.num_shards();
    // A stage with the embedding holds a tied matrix once.
    const bool has_matrix = plan.begin == OperatorCut{};
    const auto dense_of = [has_matrix](const OperatorCost& cost) {
      return cost.dense_parameters - (has_matrix ? cost.copied_parameters : 0);
    };
    for (int op = begin; op < end; ++op) {
      for (int gpu = 0; gpu < num_gpus; ++gpu) {
        const int replica = gpu / tp;
        const int shard = replica % shards;
        AddTensor({.layer = layer, .op = op}, dense_of(whole[op]),
                  dense_of(split[op]), gpu % tp, tp, shard, shards,
                  parallelism.zero_stage, first_holder + gpu);
        const int ep = parallelism.ep_degree;
        AddTensor({.layer = layer, .op = op, .experts = true},
                  whole[op].expert_parameters, split[op].expert_parameters,
                  replica % ep * tp + gpu % tp, ep * tp, shard / ep,
                  shards / ep, parallelism.zero_stage, first_holder + gpu);
      }
    }
  }

  // `rank` holds the rank-th part of the tensor; with ZeRO, `shard` of `shards`
  // of it.
  void AddTensor(StateTensor tensor, double parameters, double on_gpu, int rank,
                 int num_ranks, int shard, int shards, int zero_stage,
                 int holder) {
    if (!(parameters > 0)) return;
    const double share = std::min(1.0, on_gpu / parameters);
    // A tensor that is not split is whole on every rank. If it is split in
    // part, each rank holds what they have in common:
    //   share = common + (1 − common) / parts
    double parts = std::round(1 / share);
    double common = 0;
    if (std::abs(parts * share - 1) > kRounding && num_ranks > 1) {
      parts = num_ranks;
      common = std::clamp((parts * share - 1) / (parts - 1), 0.0, 1.0);
    }
    const double part = (1 - common) / parts;
    const double begin = common + std::fmod(rank, parts) * part;
    const auto add = [&](bool optimizer, bool is_sharded, double bytes,
                         double from, double to) {
      if (!(to > from)) return;
      const double size = is_sharded ? (to - from) / shards : to - from;
      const double first = is_sharded ? from + shard * size : from;
      tensor.optimizer = optimizer;
      held_.parts.push_back({.tensor = tensor,
                             .begin = first,
                             .end = std::min(to, first + size),
                             .tensor_bytes = parameters * bytes,
                             .holder = holder});
    };
    for (const auto& [from, to] :
         {std::pair(0.0, common),
          std::pair(begin, std::min(1.0, begin + part))}) {
      add(false, zero_stage >= 3, bytes_.weight, from, to);
      add(true, zero_stage >= 1, bytes_.optimizer, from, to);
    }
  }

  const ModelSpec& model_;
  const Cluster& cluster_;
  const TrainingOptions& training_;
  const int microbatch_;
  const ParameterBytes bytes_;
  HeldState& held_;
};

void Sort(HeldState& held) {
  std::sort(held.parts.begin(), held.parts.end(),
            [](const HeldPart& a, const HeldPart& b) {
              return std::tie(a.tensor, a.begin, a.holder) <
                     std::tie(b.tensor, b.begin, b.holder);
            });
}

}  // namespace

HeldState HeldBy(const ModelSpec& model, const Cluster& cluster,
                 const TrainingOptions& training, const PipelinePlan& plan) {
  HeldState held;
  StageState state(model, cluster, training, plan.pipeline_microbatch_size,
                   held);
  for (const PlacedStage& stage : plan.stages) {
    if (stage.mixed.empty()) {
      state.Add(stage.plan, stage.plan.parallelism, stage.gpus);
      continue;
    }
    size_t first = 0;
    for (const ReplicaGroup& group : stage.mixed.groups) {
      const size_t count = group.parallelism.num_gpus();
      state.Add(stage.plan, group.parallelism,
                absl::MakeConstSpan(stage.gpus).subspan(first, count));
      first += count;
    }
  }
  Sort(held);
  return held;
}

HeldState Join(absl::Span<const HeldState> states) {
  HeldState joined;
  for (const HeldState& state : states) {
    const auto first = static_cast<int>(joined.gpus.size());
    joined.gpus.insert(joined.gpus.end(), state.gpus.begin(), state.gpus.end());
    for (HeldPart part : state.parts) {
      part.holder += first;
      joined.parts.push_back(part);
    }
  }
  Sort(joined);
  return joined;
}

}  // namespace tangram
