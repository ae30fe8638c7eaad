#include "worker/adapters/aceso/aceso_balance.h"

#include <algorithm>

#include "common/base/infinity.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// For kTime, a stage that does not fit in memory is infinitely slow.
// The quantity that cuts balance: stage time in seconds, or peak bytes.
enum class Metric { kTime, kMemory };

// The bisection ends when the bound is known to this fraction, or after
// kMaxProbes bounds. Plans of the paper's workloads are the same with half the
// tolerance, and up to 5 % slower with twice.
constexpr double kRelativeTolerance = 5e-3;
// First step of the galloping search, as a fraction of the first guess. A guess
// itself: with half and with twice, plans of the same workloads are up to 1.9 %
// faster, and none is slower.
constexpr double kFirstStride = 0.01;
// With 8 and with 32, the plans of the same workloads are the same.
constexpr int kMaxProbes = 16;

// Solves  min over cuts of max_s value(s)  by bisection on the maximum: see
// BalanceCuts.
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

  // Lowers the maximum as far as it goes. Gallops from a guess until one bound
  // fails and another works, then bisects between them. Returns false if the
  // maximum stays infinite.
  bool Balance() {
    double fails = 0;
    double works = 0;
    for (const ConfiguredStage& stage : stages_) {
      works = std::max(works, ValueOf(stage.figures) + SendOf(stage));
    }
    if (works == kInfinity && !Fill(kInfinity, works)) return false;
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
  // The metric's value without the transfer to the next stage.
  double ValueOf(const StageFigures& figures) const {
    if (metric_ == Metric::kMemory) return figures.peak_bytes;
    return figures.fits ? figures.compute_s : kInfinity;
  }

  // Returns the bound that all stages reach together if each keeps its present
  // rate of work. Work is in seconds on one GPU.
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
    return rate > 0 ? all_work_s / rate : kInfinity;
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
    double value = kInfinity;
  };

  // Finds cuts under which no stage exceeds `bound` and sets `reached` to the
  // largest value among the stages. Returns false if there are none.
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

  // A stage that begins inside an attention or MLP half must reach the half's
  // end. If it cannot, the stage before may end at the residual cut instead.
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

  // Returns the last end of stage `i` with a value of at most `bound`, or end
  // -1. The end of the last stage is fixed.
  Part Take(size_t i, int begin, double bound) const {
    if (i + 1 < stages_.size()) return FurthestEnd(i, begin, bound);
    const double value =
        ValueOf(i, begin, latest_end_[i]) + SendOf(stages_.back());
    if (value > bound || value == kInfinity) return {};
    return {.end = latest_end_[i], .value = value};
  }

  // Returns the last end with value plus transfer at most `bound`. Starts from
  // the transfer at a residual cut, which is the smallest.
  Part FurthestEnd(size_t i, int begin, double bound) const {
    const int earliest = layout_->EarliestEnd(begin);
    if (earliest > latest_end_[i]) return {};
    const int last_residual = layout_->ResidualCutBefore(latest_end_[i]);
    Part part = FurthestEndByValue(i, begin, bound - SendAt(i, last_residual));
    if (part.end < 0) return {};
    // Cuts inside a half send more than the residual cut before it.
    const int residual =
        std::max(earliest, layout_->ResidualCutBefore(part.end));
    for (int end = part.end; end >= residual; --end) {
      if (end < part.end) part = {end, ValueOf(i, begin, end)};
      const double value = part.value + SendAt(i, end);
      if (value <= bound) return {.end = end, .value = value};
    }
    return {};
  }

  // Returns the last end by the stage's value alone, which never falls when
  // operators are added. Time without recomputation comes from prefix sums.
  // Each probe yields the ratio of the stage's time to that sum; the ratio
  // predicts the next probe.
  Part FurthestEndByValue(size_t i, int begin, double bound) const {
    Part found;
    const DegreeTable& table = tables_->At(stages_[i].shape.degrees);
    const int earliest = layout_->EarliestEnd(begin);
    int good = earliest - 1;
    int bad = latest_end_[i] + 1;
    double slowdown = metric_ == Metric::kTime ? 1 : kInfinity;
    while (bad - good > 1) {
      int probe = (good + bad) / 2;
      if (slowdown < kInfinity) {
        probe = table.time_s.LastEndWithin(*layout_, begin, bad - 1,
                                           bound / slowdown);
        if (probe <= good && good >= earliest) break;
        probe = std::max(probe, good + 1);
      }
      const double value = ValueOf(i, begin, probe);
      if (value <= bound && value < kInfinity) {
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
  // The latest end of each stage that leaves room for the stages behind.
  std::vector<int> latest_end_;
  // The best cuts found so far.
  std::vector<int> ends_;
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
