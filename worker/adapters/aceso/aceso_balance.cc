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
constexpr int kMaxProbes = 12;

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
        stride *= 2;
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
  // at which it has its operators now.
  double GuessBound() const {
    double operators = 0;
    double rate = 0;
    for (const ConfiguredStage& stage : stages_) {
      const double held = stage.shape.end - stage.shape.begin;
      operators += held;
      rate += held / (ValueOf(stage.figures) + SendOf(stage));
    }
    return rate > 0 ? operators / rate : kInfinite;
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

  // Cuts under which no stage passes `bound`; `reached` is then the worst of
  // them. False if there are none.
  bool Fill(double bound, double& reached) {
    std::vector<int> ends(stages_.size());
    double worst = 0;
    int begin = stages_[0].shape.begin;
    for (size_t i = 0; i + 1 < stages_.size(); ++i) {
      double value = 0;
      ends[i] = FurthestEnd(i, begin, bound, value);
      if (ends[i] < 0) return false;
      worst = std::max(worst, value);
      begin = ends[i];
    }
    ends.back() = latest_end_.back();
    worst = std::max(worst, ValueOf(stages_.size() - 1, begin, ends.back()) +
                                SendOf(stages_.back()));
    if (worst > bound || worst == kInfinite) return false;
    ends_ = std::move(ends);
    reached = worst;
    return true;
  }

  // The last end of stage `i` with which it keeps to `bound`, and its value
  // there; −1 if none.
  int FurthestEnd(size_t i, int begin, double bound, double& value) const {
    const int earliest = layout_->EarliestEnd(begin);
    if (earliest > latest_end_[i]) return -1;
    const int last_residual = layout_->ResidualCutBefore(latest_end_[i]);
    const int end =
        FurthestEndByValue(i, begin, bound - SendAt(i, last_residual), value);
    if (end < earliest) return -1;
    // Cuts inside a half send more than the residual cut before them.
    const int residual = std::max(earliest, layout_->ResidualCutBefore(end));
    for (int e = end; e >= residual; --e) {
      if (e < end) value = ValueOf(i, begin, e);
      value += SendAt(i, e);
      if (value <= bound) return e;
    }
    return -1;
  }

  // The same without sending; stages only get worse with more operators. Times
  // without recomputation are sums and need no probing: each probe tells how
  // much slower the stage is than that, which gives the next.
  int FurthestEndByValue(size_t i, int begin, double bound,
                         double& value_there) const {
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
        value_there = value;
      } else {
        bad = probe;
      }
      if (metric_ == Metric::kTime) {
        slowdown =
            value / table.time_s.Over(layout_->at(begin), layout_->at(probe));
      }
    }
    return good;
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
