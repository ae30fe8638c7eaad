#include "worker/adapters/aceso/aceso_tables.h"

#include <algorithm>
#include <utility>

#include "worker/adapters/aceso/aceso_recompute_hull.h"

namespace tangram::aceso {
namespace {

bool IsRecomputed(OpMask mask, int op) { return (mask >> op & 1) != 0; }

// Returns prefix sums of one field of the costs.
template <typename Field>
RangeSums SumsOf(const SliceLayout& layout,
                 const std::vector<OperatorCost>& costs, const Field& field) {
  std::vector<double> values;
  values.reserve(costs.size());
  for (const OperatorCost& cost : costs) values.push_back(field(cost));
  return RangeSums(layout, values);
}

// Returns the recompute masks of one layer. As in the paper, embedding and head
// are never recomputed. `closed`: only closed segments are.
std::vector<OpMask> HullOf(const LayerSpec& layer,
                           absl::Span<const OperatorCost> costs, bool closed) {
  if (layer.kind != LayerKind::kTransformer) return {kRecomputeNone};
  std::vector<RecomputeOperator> operators;
  operators.reserve(costs.size());
  for (const OperatorCost& cost : costs) {
    operators.push_back({.forward_s = cost.forward_s,
                         .saved_bytes = cost.saved_bytes,
                         .input_bytes = cost.input_bytes});
  }
  return RecomputeHull(operators, closed ? &layer : nullptr);
}

// Computes the sums of one level. An operator inside a recomputed segment keeps
// nothing; the first operator of a segment keeps its input.
RecomputeLevel MakeLevel(const SliceLayout& layout,
                         const std::vector<OperatorCost>& all_costs,
                         std::vector<OpMask> masks) {
  std::vector<double> recompute_s;
  std::vector<double> recompute_host_s;
  std::vector<double> kept_bytes;
  std::vector<double> transient_until;
  std::vector<double> transient_from;
  std::vector<double> cut_input_bytes;
  for (int kind = 0; kind < layout.num_kinds(); ++kind) {
    const OpMask mask = masks[kind];
    const absl::Span<const OperatorCost> costs =
        layout.OfKind(kind, absl::MakeSpan(all_costs));
    for (int op = 0; op < static_cast<int>(costs.size()); ++op) {
      const OperatorCost& cost = costs[op];
      const bool recomputed = IsRecomputed(mask, op);
      const bool inside = recomputed && op > 0 && IsRecomputed(mask, op - 1);
      recompute_s.push_back(recomputed ? cost.forward_s : 0);
      recompute_host_s.push_back(recomputed ? cost.forward_host_s : 0);
      kept_bytes.push_back(!recomputed ? cost.saved_bytes
                           : inside    ? 0
                                       : cost.input_bytes);
      transient_until.push_back(TransientBytes(costs.first(op), mask));
      transient_from.push_back(TransientBytes(costs.subspan(op), mask >> op));
      cut_input_bytes.push_back(inside ? cost.input_bytes : 0);
    }
  }
  return {.masks = std::move(masks),
          .recompute_s = RangeSums(layout, recompute_s),
          .recompute_host_s = RangeSums(layout, recompute_host_s),
          .kept_bytes = RangeSums(layout, kept_bytes),
          .transient_until = std::move(transient_until),
          .transient_from = std::move(transient_from),
          .cut_input_bytes = std::move(cut_input_bytes)};
}

// Level r gives each kind of layer the r-th mask of its own hull, or the last
// one if its hull is shorter. Limits may leave one level.
std::vector<RecomputeLevel> MakeLevels(const SliceLayout& layout,
                                       const std::vector<OperatorCost>& costs,
                                       const StageLimits& limits) {
  std::vector<std::vector<OpMask>> hulls;
  size_t num_levels = 0;
  for (int kind = 0; kind < layout.num_kinds(); ++kind) {
    const LayerSpec& layer = layout.kinds()[kind];
    hulls.push_back(limits.recompute.has_value()
                        ? std::vector<OpMask>{MaskOf(layer, *limits.recompute)}
                        : HullOf(layer,
                                 layout.OfKind(kind, absl::MakeSpan(costs)),
                                 limits.closed_recompute));
    num_levels = std::max(num_levels, hulls.back().size());
  }
  std::vector<RecomputeLevel> levels;
  levels.reserve(num_levels);
  for (size_t level = 0; level < num_levels; ++level) {
    std::vector<OpMask> masks;
    for (const std::vector<OpMask>& hull : hulls) {
      masks.push_back(hull[std::min(level, hull.size() - 1)]);
    }
    levels.push_back(MakeLevel(layout, costs, std::move(masks)));
  }
  return levels;
}

}  // namespace

// layers_[l] = Σ of the layers before l;  within_[slot] = Σ of the operators of
// the same layer before that slot. The sum before operator p is  layers_[layer
// of p] + within_[slot of p].
RangeSums::RangeSums(const SliceLayout& layout,
                     absl::Span<const double> values) {
  std::vector<double> of_layer;
  within_.reserve(values.size());
  for (int kind = 0; kind < layout.num_kinds(); ++kind) {
    double sum = 0;
    for (const double value : layout.OfKind(kind, values)) {
      within_.push_back(sum);
      sum += value;
    }
    of_layer.push_back(sum);
  }
  layers_.reserve(layout.num_layers() + 1);
  layers_.push_back(0);
  for (int layer = 0; layer < layout.num_layers(); ++layer) {
    const int kind = layout.at(layout.StartOfLayer(layer)).kind;
    layers_.push_back(layers_.back() + of_layer[kind]);
  }
}

int RangeSums::LastEndWithin(const SliceLayout& layout, int begin, int limit,
                             double bound) const {
  // Finds the last whole layer within the bound, then adds operators one by
  // one.
  const double total = Before(layout.at(begin)) + bound;
  const auto first_above =
      std::upper_bound(layers_.begin(), layers_.end(), total);
  if (first_above == layers_.end()) return limit;
  if (first_above == layers_.begin()) return begin;
  const int layer = static_cast<int>(first_above - layers_.begin()) - 1;
  int end = layout.StartOfLayer(layer);
  while (end < limit && Before(layout.at(end + 1)) <= total) ++end;
  return std::clamp(end, begin, limit);
}

// max over segments of Σ saved bytes, plus max over operators of workspace.
double TransientBytes(absl::Span<const OperatorCost> operators, OpMask mask) {
  double largest_segment = 0;
  double segment = 0;
  double workspace = 0;
  for (const OperatorCost& op : operators) {
    segment = (mask & 1) != 0 ? segment + op.saved_bytes : 0;
    mask >>= 1;
    largest_segment = std::max(largest_segment, segment);
    workspace = std::max(workspace, op.workspace_bytes);
  }
  return largest_segment + workspace;
}

CostTables::CostTables(const SliceLayout& layout, const DegreeSpace& space,
                       const IslandSpec& island,
                       const ParallelizeOptions& options, TransferPayer payer)
    : layout_(layout),
      space_(space),
      island_(island),
      options_(options),
      poll_(options.should_stop),
      payer_(payer),
      within_node_(PathWithin(island, 0, 1, 1, 1)),
      capacity_bytes_(island.device.memory_bytes * (1 - 1e-9)),
      tables_(space.choices().size()) {
  for (const LayerSpec& kind : layout.kinds()) {
    const int num_ops = static_cast<int>(OperatorsOf(kind).size());
    for (int op = 0; op < num_ops; ++op) {
      boundary_bytes_.push_back(BoundaryBytes(
          kind, op, options.pipeline_microbatch_size, options.training));
    }
  }
}

// Asks the cost model once for each kind of layer; all sums follow from that.
std::unique_ptr<DegreeTable> CostTables::MakeTable(
    const Degrees& degrees) const {
  const StageParallelism parallelism = {.tp_degree = degrees.tp_degree,
                                        .dp_degree = degrees.dp_degree};
  const StageEnvironment environment = {
      .device = island_.device,
      .training = options_.training,
      .wiring = WiringOf(island_, degrees.num_gpus()),
      .pipeline_microbatch_size = options_.pipeline_microbatch_size};
  std::vector<OperatorCost> costs;
  for (const LayerSpec& layer : layout_.kinds()) {
    const std::vector<OperatorCost> operators =
        EstimateOperators(layer, parallelism, environment);
    costs.insert(costs.end(), operators.begin(), operators.end());
  }
  const auto sums = [&](const auto& field) {
    return SumsOf(layout_, costs, field);
  };
  return std::make_unique<DegreeTable>(DegreeTable{
      .parallelism = parallelism,
      .wiring = environment.wiring,
      .costs = costs,
      .state_bytes_per_parameter =
          ModelStateBytes({.dense = 1}, parallelism, options_.training),
      .time_s = sums([](const OperatorCost& cost) {
        return cost.forward_s + cost.backward_s;
      }),
      .backward_s =
          sums([](const OperatorCost& cost) { return cost.backward_s; }),
      .forward_host_s =
          sums([](const OperatorCost& cost) { return cost.forward_host_s; }),
      .backward_host_s =
          sums([](const OperatorCost& cost) { return cost.backward_host_s; }),
      .parameters =
          sums([](const OperatorCost& cost) { return cost.dense_parameters; }),
      .copied_parameters =
          sums([](const OperatorCost& cost) { return cost.copied_parameters; }),
      .levels = MakeLevels(layout_, costs, island_.limits)});
}

}  // namespace tangram::aceso
