#include "worker/adapters/alpa/alpa_tables.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "common/cost/collectives.h"
#include "common/parallelizer/stage_transfer.h"
#include "common/parallelizer/trailing_stages.h"
#include "worker/adapters/alpa/alpa_intra_operator.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::alpa {
namespace {

// Limits on the number of units among which the dynamic program divides an
// island's GPUs. There are fewer units for slices of many layers. A larger
// island is divided in larger units, which keeps a query to milliseconds. With
// half and with twice of each, the plans of the paper's C1 and C3 workloads are
// the same.
constexpr int kMaxUnits = 32;
constexpr int kMinUnits = 8;
constexpr int kMaxLayerUnits = 1024;

// An interval takes as long as so many steps of StopPoll.
constexpr int kStepsPerInterval = 8;

int MaxUnits(int num_layers) {
  return std::clamp(kMaxLayerUnits / num_layers, kMinUnits, kMaxUnits);
}

bool IsPowerOfTwo(int n) { return (n & (n - 1)) == 0; }

// Returns the submeshes of the paper: (1, 2^k) GPUs of a node, or whole nodes.
// As in upstream's default, the number of nodes is a power of two, or all.
// Deviates from both in that a node may have any number of GPUs and be cut into
// any equal parts.
std::vector<int> SubmeshSizes(const IslandSpec& island,
                              const SplitLimits& limits) {
  std::vector<int> sizes = StageSizes(island, limits, {.ep = true});
  if (sizes.size() == 1)
    return sizes;  // Perhaps the one that the limits ask for.
  std::erase_if(sizes, [&](int size) {
    return size > island.gpus_per_node && size < island.num_gpus() &&
           !IsPowerOfTwo(size / island.gpus_per_node);
  });
  return sizes;
}

// Returns the smallest size with which the island has at most `max_units`
// units, else the largest size. Without sizes, the island is one unit.
int GpusPerUnit(const std::vector<int>& sizes, int num_gpus, int max_units) {
  if (sizes.empty()) return num_gpus;
  for (const int size : sizes) {
    if (num_gpus / size <= max_units) return size;
  }
  return sizes.back();
}

}  // namespace

StageTables::StageTables(const ModelSlice& slice, const IslandSpec& island,
                         const ParallelizeOptions& options)
    : island_(island),
      options_(options),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      layers_(slice) {
  const SplitLimits limits(layers_.kinds(), options.pipeline_microbatch_size,
                           options.training);
  const std::vector<int> sizes = SubmeshSizes(island, limits);
  const int max_units = MaxUnits(layers_.size());
  gpus_per_unit_ = GpusPerUnit(sizes, island.num_gpus(), max_units);
  num_units_ = std::min(island.num_gpus() / gpus_per_unit_, max_units);
  for (const int size : sizes) {
    if (size % gpus_per_unit_ != 0) continue;
    submeshes_.push_back(
        {.num_gpus = size,
         .environment = {
             .device = island.device,
             .training = options.training,
             .wiring = WiringOf(island, size),
             .pipeline_microbatch_size = options.pipeline_microbatch_size}});
    Submesh& submesh = submeshes_.back();
    submesh.parallelisms = SolveIntraOperator(layers_.kinds(), size, island,
                                              limits, submesh.environment);
    for (const StageParallelism& parallelism : submesh.parallelisms) {
      std::vector<LayerCost>& costs = submesh.layer_costs.emplace_back();
      for (const LayerSpec& kind : layers_.kinds()) {
        const int num_ops = static_cast<int>(OperatorsOf(kind).size());
        costs.push_back(EstimateLayer(kind, {0, num_ops, MaskOf(kind)},
                                      parallelism, submesh.environment));
      }
    }
  }
}

OpMask StageTables::MaskOf(const LayerSpec& layer) const {
  return MaskWithin(island_.limits, layer, LayerRecompute::kNone);
}

StageCost StageTables::CostOf(int begin, int end, int submesh,
                              int config) const {
  const Submesh& on = submeshes_[submesh];
  return StageCostOf(layers_.Sum(begin, end, on.layer_costs[config]),
                     on.parallelisms[config], on.environment);
}

double StageTables::TransferSeconds(int layer, int from_gpu, int from_count,
                                    int to_count) const {
  return SecondsToNextStage(island_, options_, {from_gpu, from_count, to_count},
                            layers_.at(layer));
}

// Returns an option for each config that fits in memory. Gradient
// synchronisation and optimizer step are spread over the microbatches.
std::vector<StageOption> StageTables::OptionsOf(int begin, int end,
                                                int submesh) const {
  std::vector<StageOption> options;
  for (int config = 0; config < num_configs(submesh); ++config) {
    const StageCost cost = CostOf(begin, end, submesh, config);
    const int borne = TrailingStagesBorne(
        cost.memory, island_.device.memory_bytes, 0, num_microbatches_);
    if (borne < 0) continue;
    options.push_back(
        {.seconds = cost.forward_s + cost.backward_s +
                    (cost.sync_s + cost.optimizer_s) / num_microbatches_,
         .max_trailing_stages = borne,
         .config = config,
         .pass_s = cost.forward_s + cost.backward_s});
  }
  return options;
}

// Intervals with the same runs of layers share a row.
void StageTables::FillRows(InterOperatorProblem& problem,
                           StopPoll& poll) const {
  std::map<std::vector<std::pair<int, int>>, int> rows;
  for (int begin = 0; begin < layers_.size(); ++begin) {
    for (int end = begin + 1; end <= layers_.size(); ++end) {
      std::vector<std::pair<int, int>> runs;
      layers_.ForEachRun(begin, end, [&](int kind, int count) {
        runs.emplace_back(kind, count);
      });
      const int64_t num_runs = static_cast<int64_t>(runs.size());
      if (poll.After(kStepsPerInterval + num_runs)) return;
      const auto [it, is_new] = rows.try_emplace(std::move(runs), 0);
      if (is_new) {
        it->second = problem.AddRow();
        for (int submesh = 0; submesh < num_submeshes(); ++submesh) {
          if (poll.After(num_runs * num_configs(submesh))) return;
          problem.SetOptions(it->second, submesh,
                             OptionsOf(begin, end, submesh));
        }
      }
      problem.SetRow(begin, end, it->second);
    }
  }
}

// Submeshes smaller than a node stay inside one; larger ones take whole nodes.
// The transfer before a layer depends only on the layer's kind.
InterOperatorProblem StageTables::Problem(StopPoll& poll) const {
  std::vector<int> sizes;
  for (const Submesh& submesh : submeshes_) {
    sizes.push_back(submesh.num_gpus / gpus_per_unit_);
  }
  InterOperatorProblem problem(layers_.size(), num_units_, sizes);
  const int per_node = island_.gpus_per_node;
  problem.RestrictSubmeshes([&](int unit, int size) {
    const int in_node = unit * gpus_per_unit_ % per_node;
    const int num_gpus = size * gpus_per_unit_;
    return in_node + num_gpus <= per_node ||
           (in_node == 0 && num_gpus % per_node == 0);
  });
  FillRows(problem, poll);
  std::vector<int> first_of_kind;
  std::vector<int> kind_of_layer;
  for (int layer = 0; layer < layers_.size(); ++layer) {
    const int kind = layers_.kind_of(layer);
    kind_of_layer.push_back(kind);
    if (kind == static_cast<int>(first_of_kind.size())) {
      first_of_kind.push_back(layer);
    }
  }
  problem.SetTransfers(
      std::move(kind_of_layer), [&](int kind, int unit, int from, int to) {
        return TransferSeconds(first_of_kind[kind],
                               (unit - sizes[from]) * gpus_per_unit_,
                               gpus_of(from), gpus_of(to));
      });
  return problem;
}

InterOperatorProblem StageTables::Problem() const {
  StopPoll never;
  return Problem(never);
}

}  // namespace tangram::alpa
