#include "worker/adapters/aceso/aceso_balance.h"

#include <algorithm>
#include <limits>

#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// A stage that does not fit in memory is infinitely slow.
enum class Metric { kTime, kMemory };

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRelativeTolerance = 5e-3;
constexpr double kFirstStride = 0.01;  // Of the first guess.
constexpr int kMaxProbes = 16;

class CutBalancer {
 public:
  CutBalancer(CostTables& tables, Metric metric,
              absl::Span<const ConfiguredStage> stages)
      : tables_(&tables),
        layout_(&tables.layout()),
        metric_(metric),
        stages_(stages),
        latest_end_(stages.size()),
        ends_(stages.size()) {
    latest_end_.back() = stages.back().shape.end;
    for (size_t i = 0; i < stages.size(); ++i) {
      ends_[i] = stages[i].shape.end;
      if (i + 1 == stages.size()) break;
      paths_.push_back(PathBetween(tables, stages[i], stages[i + 1]));
    }
    for (size_t i = stages.size() - 1; i > 0; --i) {
      latest_end_[i - 1] = layout_->LatestBegin(latest_end_[i]);
    }
  }

  // Lowers the worst stage as far as it goes: gallops from a guess until the
  // bound is between one that fails and one that does, then bisects. False if
  // the worst is infinite and stays so.
  bool Balance() {
    double fails = 0;
    double works = 0;
    for (const ConfiguredStage& stage : stages_) {
      works = std::max(works, ValueOf(stage.figures) + SendOf(stage));
    }
    if (works == kInfinite && !Fill(kInfinite, works)) return false;
    double bound = std::min(GuessBound(), works);
    double stride = kFirstStride * bound;
    bool found_fails = false;
    bool found_works = false;
    for (int i = 0; i < kMaxProbes; ++i) {
      if (works - fails <= kRelativeTolerance * works) break;
      if (bound <= fails || bound >= works) bound = (fails + works) / 2;
      if (double reached = 0; Fill(bound, reached)) {
        works = reached;
        found_works = true;
      } else {
        fails = bound;
        found_fails = true;
      }
      if (found_fails && found_works) {
        bound = (fails + works) / 2;
      } else {
        bound = found_works ? works - stride : fails + stride;
        stride *= 3;
      }
    }
    return true;
  }

  const std::vector<int>& ends() const { return ends_; }

 private:
  double ValueOf(const StageFigures& figures) const {
    if (metric_ == Metric::kMemory) return figures.peak_bytes;
    return figures.fits ? figures.compute_s : kInfinite;
  }

  // The bound that all stages would reach together if each went on at the rate
  // at which it does its work now; in seconds on one GPU.
  double GuessBound() const {
    const DegreeTable& single = tables_->At(0);
    double all_work_s = 0;
    double rate = 0;
    for (const ConfiguredStage& stage : stages_) {
      const double work_s = single.time_s.Over(layout_->at(stage.shape.begin),
                                               layout_->at(stage.shape.end));
      all_work_s += work_s;
      rate += work_s / (ValueOf(stage.figures) + SendOf(stage));
    }
    return rate > 0 ? all_work_s / rate : kInfinite;
  }

  double SendOf(const ConfiguredStage& stage) const {
    return metric_ == Metric::kTime ? stage.send_s : 0;
  }

  double ValueOf(size_t i, int begin, int end) const {
    StageShape shape = stages_[i].shape;
    shape.begin = begin;
    shape.end = end;
    return ValueOf(EstimateFigures(*tables_, shape));
  }

  double SendAt(size_t i, int end) const {
    return metric_ == Metric::kTime ? SendSeconds(*tables_, paths_[i], end) : 0;
  }

  // A stage's end, and its value with that end.
  struct Part {
    int end = -1;
    double value = kInfinite;
  };

  // Cuts under which no stage passes `bound`; `reached` is then the worst of
  // them. False if there are none.
  bool Fill(double bound, double& reached) {
    std::vector<Part> parts(stages_.size());
    for (size_t i = 0; i < stages_.size(); ++i) {
      parts[i] = Take(i, BeginOf(i, parts), bound);
      if (parts[i].end < 0 && i > 0 && Retreat(i - 1, parts)) {
        parts[i] = Take(i, BeginOf(i, parts), bound);
      }
      if (parts[i].end < 0) return false;
    }
    reached = 0;
    for (size_t i = 0; i < stages_.size(); ++i) {
      ends_[i] = parts[i].end;
      reached = std::max(reached, parts[i].value);
    }
    return true;
  }

  int BeginOf(size_t i, const std::vector<Part>& parts) const {
    return i == 0 ? stages_[0].shape.begin : parts[i - 1].end;
  }

  // A stage that begins inside a half has to reach the half's end. Where it
  // cannot, the one before it may end at the residual cut instead.
  bool Retreat(size_t i, std::vector<Part>& parts) const {
    const int begin = BeginOf(i, parts);
    const int residual = layout_->ResidualCutBefore(parts[i].end);
    if (residual == parts[i].end || residual < layout_->EarliestEnd(begin)) {
      return false;
    }
    parts[i] = {.end = residual,
                .value = ValueOf(i, begin, residual) + SendAt(i, residual)};
    return true;
  }

  // The last end of stage `i` with which it keeps to `bound`, if any. The last
  // stage's end is given.
  Part Take(size_t i, int begin, double bound) const {
    if (i + 1 < stages_.size()) return FurthestEnd(i, begin, bound);
    const double value =
        ValueOf(i, begin, latest_end_[i]) + SendOf(stages_.back());
    if (value > bound || value == kInfinite) return {};
    return {.end = latest_end_[i], .value = value};
  }

  Part FurthestEnd(size_t i, int begin, double bound) const {
    const int earliest = layout_->EarliestEnd(begin);
    if (earliest > latest_end_[i]) return {};
    const int last_residual = layout_->ResidualCutBefore(latest_end_[i]);
    Part part = FurthestEndByValue(i, begin, bound - SendAt(i, last_residual));
    if (part.end < 0) return {};
    // Cuts inside a half send more than the residual cut before them.
    const int residual =
        std::max(earliest, layout_->ResidualCutBefore(part.end));
    for (int end = part.end; end >= residual; --end) {
      if (end < part.end) part = {end, ValueOf(i, begin, end)};
      const double value = part.value + SendAt(i, end);
      if (value <= bound) return {.end = end, .value = value};
    }
    return {};
  }

  // The last end by the stage's value without sending; stages only get worse
  // with more operators. Times without recomputation are sums and need no
  // probing: each probe tells how much slower the stage is than that, which
  // gives the next.
  Part FurthestEndByValue(size_t i, int begin, double bound) const {
    Part found;
    const DegreeTable& table = tables_->At(stages_[i].shape.degrees);
    const int earliest = layout_->EarliestEnd(begin);
    int good = earliest - 1;
    int bad = latest_end_[i] + 1;
    double slowdown = metric_ == Metric::kTime ? 1 : kInfinite;
    while (bad - good > 1) {
      int probe = (good + bad) / 2;
      if (slowdown < kInfinite) {
        probe = table.time_s.LastEndWithin(*layout_, begin, bad - 1,
                                           bound / slowdown);
        if (probe <= good && good >= earliest) break;
        probe = std::max(probe, good + 1);
      }
      const double value = ValueOf(i, begin, probe);
      if (value <= bound && value < kInfinite) {
        good = probe;
        found = {.end = probe, .value = value};
      } else {
        bad = probe;
      }
      if (metric_ == Metric::kTime) {
        slowdown =
            value / table.time_s.Over(layout_->at(begin), layout_->at(probe));
      }
    }
    return found;
  }

  CostTables* tables_;
  const SliceLayout* layout_;
  Metric metric_;
  absl::Span<const ConfiguredStage> stages_;
  std::vector<TransferPath> paths_;  // Behind each stage but the last.
  std::vector<int> latest_end_;      // That leave room for the stages behind.
  std::vector<int> ends_;            // The best found.
};

}  // namespace

bool BalanceCuts(CostTables& tables, int first, int last,
                 Configuration& configuration) {
  std::vector<ConfiguredStage>& stages = configuration.stages;
  const absl::Span<const ConfiguredStage> chain =
      absl::MakeSpan(stages).subspan(first, last - first + 1);
  CutBalancer balancer(tables, Metric::kTime, chain);
  if (!balancer.Balance()) {
    balancer = CutBalancer(tables, Metric::kMemory, chain);
    balancer.Balance();
  }
  bool moved = false;
  for (int i = first; i < last; ++i) {
    const int end = balancer.ends()[i - first];
    moved |= end != stages[i].shape.end;
    stages[i].shape.end = end;
    stages[i + 1].shape.begin = end;
  }
  if (moved) Complete(tables, configuration);
  return moved;
}

}  // namespace tangram::aceso
