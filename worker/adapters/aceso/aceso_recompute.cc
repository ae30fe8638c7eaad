#include "worker/adapters/aceso/aceso_recompute.h"

#include <algorithm>
#include <cmath>

#include "common/cost/pass_seconds.h"

namespace tangram::aceso {
namespace {

// An estimate takes as long as so many steps of StopPoll.
constexpr int kStepsPerEstimate = 16;

// The most estimates that a query keeps. They take 10 MB. A search that comes
// to more stages forgets them all, as it has gone elsewhere by then.
constexpr size_t kMaxKnownFigures = 1 << 16;

// Returns a mask of the operators [begin_op, end_op) of a layer.
OpMask BitsOf(int begin_op, int end_op) {
  const OpMask below_end =
      end_op >= 32 ? ~OpMask{0} : (OpMask{1} << end_op) - 1;
  return below_end & ~((OpMask{1} << begin_op) - 1);
}

// Peak memory and recomputation time of one stage under any recompute choice:
//   peak = reserved + growth · (state + transient + in_flight · kept)
// with growth = 1 + fragmentation. O(kinds) for each choice.
class StageRecompute {
 public:
  StageRecompute(CostTables& tables, const StageShape& shape)
      : layout_(tables.layout()),
        shape_(shape),
        table_(tables.At(shape.degrees)),
        begin_(layout_.at(shape.begin)),
        end_(layout_.at(shape.end)),
        num_layers_(layout_.at(shape.end - 1).layer + 1 - begin_.layer) {
    const DeviceEfficiency& efficiency = tables.island().device.efficiency;
    growth_ = 1 + efficiency.fragmentation;
    static_bytes_ = efficiency.reserved_bytes +
                    growth_ * table_.state_bytes_per_parameter *
                        tables.ParametersOf(table_, shape.begin, shape.end);
  }

  const DegreeTable& table() const { return table_; }
  int num_layers() const { return num_layers_; }

  double PeakBytes(const RecomputeChoice& choice) const {
    const RecomputeLevel& lower = table_.levels[choice.level];
    Room room;
    if (choice.upper_layers == 0) {
      AddRoom(lower, begin_, end_, room);
      return PeakOf(room.bytes(), lower.cut_input_bytes[begin_.slot] +
                                      lower.kept_bytes.Over(begin_, end_));
    }
    const RecomputeLevel& upper = table_.levels[choice.level + 1];
    const LayoutOperator& split = SplitOf(choice);
    AddRoom(upper, begin_, split, room);
    AddRoom(lower, split, end_, room);
    return PeakOf(room.bytes(), upper.cut_input_bytes[begin_.slot] +
                                    upper.kept_bytes.Over(begin_, split) +
                                    lower.kept_bytes.Over(split, end_));
  }

  // `sums`: RecomputeLevel::recompute_s or RecomputeLevel::recompute_host_s.
  double RecomputeSeconds(const RecomputeChoice& choice,
                          RangeSums RecomputeLevel::*sums) const {
    const RecomputeLevel& lower = table_.levels[choice.level];
    if (choice.upper_layers == 0) return (lower.*sums).Over(begin_, end_);
    const LayoutOperator& split = SplitOf(choice);
    return (table_.levels[choice.level + 1].*sums).Over(begin_, split) +
           (lower.*sums).Over(split, end_);
  }

 private:
  // Transient memory. Other layers have the room of what the head keeps.
  struct Room {
    double head_transient_bytes = 0;
    double body_transient_bytes = 0;
    double head_bytes = 0;
    double bytes() const {
      return std::max(head_transient_bytes, body_transient_bytes - head_bytes);
    }
  };

  void AddRoom(const RecomputeLevel& level, const LayoutOperator& begin,
               const LayoutOperator& end, Room& room) const {
    if (begin.layer == end.layer && begin.index == end.index) return;
    const int last = end.index > 0 ? end.layer : end.layer - 1;
    const LayoutOperator& start = layout_.at(layout_.StartOfLayer(last));
    const bool has_head = layout_.kinds()[start.kind].kind == LayerKind::kHead;
    const bool only_head = has_head && begin.layer == last;
    if (!only_head) {
      room.body_transient_bytes =
          std::max(room.body_transient_bytes,
                   LargestTransient(level, begin, has_head ? start : end));
    }
    if (!has_head) return;
    const LayoutOperator& head = only_head ? begin : start;
    room.head_transient_bytes =
        std::max(room.head_transient_bytes, LargestTransient(level, head, end));
    room.head_bytes += level.kept_bytes.Over(head, end);
  }

  double PeakOf(double transient_bytes, double kept_bytes) const {
    return static_bytes_ +
           growth_ * (transient_bytes + kept_bytes * shape_.in_flight);
  }

  // Returns the first operator after the layers of the upper level.
  const LayoutOperator& SplitOf(const RecomputeChoice& choice) const {
    return layout_.at(std::min(
        shape_.end, layout_.StartOfLayer(begin_.layer + choice.upper_layers)));
  }

  // Returns the largest transient memory of a layer in [begin, end): its
  // largest recomputed segment and its workspace.
  double LargestTransient(const RecomputeLevel& level,
                          const LayoutOperator& begin,
                          const LayoutOperator& end) const {
    if (begin.layer == end.layer) {
      return TransientBytes(absl::MakeSpan(table_.costs)
                                .subspan(begin.slot, end.index - begin.index),
                            level.masks[begin.kind] >> begin.index);
    }
    double largest = level.transient_from[begin.slot];
    if (end.index > 0) {
      largest = std::max(largest, level.transient_until[end.slot]);
    }
    for (int kind = 0; kind < layout_.num_kinds(); ++kind) {
      if (layout_.HasKind(kind, begin.layer + 1, end.layer)) {
        largest = std::max(largest, level.transient_from[layout_.SlotOf(kind)]);
      }
    }
    return largest;
  }

  const SliceLayout& layout_;
  const StageShape& shape_;
  const DegreeTable& table_;
  const LayoutOperator& begin_;
  const LayoutOperator& end_;
  int num_layers_;
  double growth_ = 1;
  double static_bytes_ = 0;
};

struct Chosen {
  RecomputeChoice choice;
  double peak_bytes = 0;
};

// Returns the fewest layers on the level above `level` with which the stage
// fits. `none_bytes` and `all_bytes` are the peaks with none and with all
// layers there; the latter fits. Interpolates, because every layer frees about
// as many bytes.
Chosen FewestLayers(const StageRecompute& stage, int level, double none_bytes,
                    double all_bytes, double capacity) {
  int too_few = 0;
  int enough = stage.num_layers();
  while (enough - too_few > 1) {
    const double share = (none_bytes - capacity) / (none_bytes - all_bytes);
    const int guess = std::clamp(
        too_few + static_cast<int>(std::ceil(share * (enough - too_few))),
        too_few + 1, enough - 1);
    const double peak =
        stage.PeakBytes({.level = level, .upper_layers = guess});
    if (peak <= capacity) {
      enough = guess;
      all_bytes = peak;
    } else {
      too_few = guess;
      none_bytes = peak;
    }
  }
  if (enough == stage.num_layers()) return {{.level = level + 1}, all_bytes};
  return {{.level = level, .upper_layers = enough}, all_bytes};
}

// Returns the lowest level that fits, with a mix of it and the level below. If
// none fits, returns the level with the smallest peak.
Chosen ChooseRecompute(const StageRecompute& stage, double capacity) {
  Chosen least = {.peak_bytes = stage.PeakBytes({})};
  if (least.peak_bytes <= capacity) return least;
  double below = least.peak_bytes;
  const int num_levels = static_cast<int>(stage.table().levels.size());
  for (int level = 1; level < num_levels; ++level) {
    const double peak = stage.PeakBytes({.level = level});
    if (peak <= capacity) {
      return FewestLayers(stage, level - 1, below, peak, capacity);
    }
    if (peak < least.peak_bytes) {
      least = {.choice = {.level = level}, .peak_bytes = peak};
    }
    below = peak;
  }
  return least;
}

StageFigures Estimate(CostTables& tables, const StageShape& shape) {
  const StageRecompute stage(tables, shape);
  const double capacity = tables.capacity_bytes();
  const Chosen chosen = ChooseRecompute(stage, capacity);
  const DegreeTable& table = stage.table();
  StageFigures figures = {.recompute = chosen.choice,
                          .recompute_s = stage.RecomputeSeconds(
                              chosen.choice, &RecomputeLevel::recompute_s),
                          .peak_bytes = chosen.peak_bytes,
                          .fits = chosen.peak_bytes <= capacity};
  const LayoutOperator& begin = tables.layout().at(shape.begin);
  const LayoutOperator& end = tables.layout().at(shape.end);
  const double backward_s = table.backward_s.Over(begin, end);
  const double forward_s =
      PassSecondsOf(table.time_s.Over(begin, end) - backward_s,
                    table.forward_host_s.Over(begin, end));
  const double backward_host_s =
      table.backward_host_s.Over(begin, end) +
      stage.RecomputeSeconds(chosen.choice, &RecomputeLevel::recompute_host_s);
  figures.backward_s =
      PassSecondsOf(backward_s + figures.recompute_s, backward_host_s);
  figures.compute_s =
      forward_s + figures.backward_s + tables.ReceiveSeconds(shape.begin);
  return figures;
}

}  // namespace

StageFigures EstimateFigures(CostTables& tables, const StageShape& shape) {
  auto& known = tables.figures();
  const auto it = known.find(shape);
  if (it != known.end()) {
    tables.poll().After(1);
    return it->second;
  }
  tables.poll().After(kStepsPerEstimate);
  if (known.size() >= kMaxKnownFigures) known.clear();
  return known[shape] = Estimate(tables, shape);
}

bool CanFit(CostTables& tables, const StageShape& shape) {
  const StageRecompute stage(tables, shape);
  const int last = static_cast<int>(stage.table().levels.size()) - 1;
  return stage.PeakBytes({.level = last}) <= tables.capacity_bytes();
}

std::vector<RecomputeRun> RecomputeRunsOf(CostTables& tables,
                                          const StageShape& shape,
                                          const RecomputeChoice& choice) {
  const SliceLayout& layout = tables.layout();
  const DegreeTable& table = tables.At(shape.degrees);
  const int first_layer = layout.at(shape.begin).layer;
  std::vector<RecomputeRun> runs;
  for (int p = shape.begin; p < shape.end;) {
    const LayoutOperator& op = layout.at(p);
    const int next = std::min(shape.end, layout.StartOfLayer(op.layer + 1));
    const bool upper = op.layer - first_layer < choice.upper_layers;
    const RecomputeLevel& level = table.levels[choice.level + (upper ? 1 : 0)];
    const LayoutOperator& end = layout.at(next);
    const int end_op =
        end.layer == op.layer
            ? end.index
            : static_cast<int>(OperatorsOf(layout.kinds()[op.kind]).size());
    const OpMask mask = level.masks[op.kind] & BitsOf(op.index, end_op);
    if (!runs.empty() && runs.back().mask == mask) {
      ++runs.back().num_layers;
    } else {
      runs.push_back({.num_layers = 1, .mask = mask});
    }
    p = next;
  }
  return runs;
}

}  // namespace tangram::aceso
