#include "worker/adapters/aceso/aceso_reassign.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "worker/adapters/aceso/aceso_balance.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Bounds the time. Each round must improve the score to be followed by another.
// With 1 and with 4, the plans of the paper's C1 and C3 workloads are the same.
constexpr int kMaxReassignments = 2;
// Fraction by which each round lowers its bound. This and the next are guesses;
// the plans of the same workloads are the same with half and with twice.
constexpr double kLeastReassignmentGain = 0.005;
// Exposed synchronisation below this fraction of the score is not reduced.
constexpr double kWorthHiding = 0.01;
// Fractions of the exposed synchronisation that the new configuration may keep.
constexpr double kSharesKept[] = {0.5, 0.0};
// A stage has at least this part (1/8) of the mean number of GPUs. With 1/4 and
// with 1/16, the plans of the same workloads are the same.
constexpr int kLeastPartOfMean = 8;

// Below this many candidate ends, FurthestEnd tries each one. In operators; a
// layer has 10.
constexpr int kFewEnds = 16;

// Limits on a stage: its time for one microbatch, and the synchronisation that
// the backward passes of the stages in front leave uncovered.
struct StageBounds {
  double time_s = kInfinity;
  double exposed_sync_s = kInfinity;
};

// Assigns GPUs to stages by dynamic programming. reach(i, g) is the furthest
// operator that the first i stages reach on the first g GPUs within the bounds:
//   reach(i + 1, g + |d|) = max over degrees d of the furthest end of stage i
//                           that begins at reach(i, g) with d
// Reaching furthest is optimal because a stage that begins later has less to
// do. The path to the next stage is approximated by that between equal stages;
// cuts are balanced afterwards.
class GpuAssigner {
 public:
  GpuAssigner(CostTables& tables, int num_stages, const StageBounds& bounds)
      : tables_(tables),
        layout_(tables.layout()),
        space_(tables.space()),
        bounds_(bounds),
        num_stages_(num_stages),
        num_gpus_(tables.island().num_gpus()),
        latest_end_(num_stages, layout_.num_ops()),
        work_from_(layout_.num_ops() + 1, 0) {
    for (int i = num_stages - 1; i > 0; --i) {
      latest_end_[i - 1] = layout_.LatestBegin(latest_end_[i]);
    }
    for (int d = 0; d < static_cast<int>(space_.choices().size()); ++d) {
      if (space_.num_gpus(d) * kLeastPartOfMean * num_stages >= num_gpus_) {
        choices_.push_back(d);
        step_ = std::gcd(step_, space_.num_gpus(d));
      }
    }
    // No stage may have so many GPUs, so nothing is reached.
    if (step_ == 0) step_ = num_gpus_;
    reached_.assign(num_stages + 1,
                    std::vector<Reached>(num_gpus_ / step_ + 1));
    for (int op = layout_.num_ops() - 1; op >= 0; --op) {
      if (tables_.poll().After(static_cast<int64_t>(choices_.size()))) break;
      work_from_[op] = work_from_[op + 1] + LeastWork(op);
    }
    ReachedOn(0, 0).end = 0;
  }

  // Returns a configuration within the bounds on the fewest GPUs, if there is
  // one.
  std::optional<Configuration> Assign() {
    for (int i = 0; i < num_stages_; ++i) {
      for (int gpu = 0; gpu < num_gpus_; gpu += step_) {
        if (IsPromising(i, gpu)) AddStage(i, gpu);
        if (tables_.poll().stopped()) return {};
      }
    }
    const std::vector<Reached>& all = reached_.back();
    const auto complete =
        std::find_if(all.begin(), all.end(), [this](const Reached& reached) {
          return reached.end == layout_.num_ops();
        });
    if (complete == all.end()) return {};
    return ConfigurationOn(static_cast<int>(complete - all.begin()) * step_);
  }

 private:
  // An entry of reach.
  struct Reached {
    int end = -1;              // -1: not reachable.
    int degrees = kNoDegrees;  // Degrees of the last stage.
    double backward_s = 0;     // Backward time of all stages so far.
  };

  // Returns reach(stages, gpus).
  Reached& ReachedOn(int stages, int gpus) {
    return reached_[stages][gpus / step_];
  }

  // Returns the GPU-seconds of one operator with the degrees that need the
  // fewest.
  double LeastWork(int op) {
    double least = kInfinity;
    for (const int d : choices_) {
      if (tables_.poll().stopped()) break;
      least = std::min(
          least, space_.num_gpus(d) * tables_.At(d).time_s.Over(
                                          layout_.at(op), layout_.at(op + 1)));
    }
    return least;
  }

  // Returns whether the remaining GPUs suffice for the remaining stages and
  // work.
  bool IsPromising(int stages, int gpus) {
    const int end = ReachedOn(stages, gpus).end;
    const int gpus_left = num_gpus_ - gpus;
    return end >= 0 && gpus_left >= num_stages_ - stages &&
           work_from_[end] <= bounds_.time_s * gpus_left;
  }

  // Extends reach(i, first_gpu) by stage i with each choice of degrees.
  void AddStage(int i, int first_gpu) {
    const Reached& before = ReachedOn(i, first_gpu);
    for (const auto& [limit, d] : LimitsOf(i, first_gpu)) {
      const int size = space_.num_gpus(d);
      Reached& reached = ReachedOn(i + 1, first_gpu + size);
      if (limit <= reached.end) continue;
      const int end = FurthestEnd(i, d, first_gpu, reached.end, limit);
      if (end <= reached.end) continue;
      reached = {.end = end,
                 .degrees = d,
                 .backward_s = before.backward_s +
                               tables_.At(d).backward_s.Over(
                                   layout_.at(before.end), layout_.at(end))};
    }
  }

  // The latest end that time without recomputation and transfer allows.
  struct EndLimit {
    int end = 0;
    int degrees = kNoDegrees;
  };

  // Returns the latest end of stage `i` with each choice of degrees, furthest
  // first. The order lets AddStage skip choices that reach less far.
  std::vector<EndLimit> LimitsOf(int i, int first_gpu) {
    const int begin = ReachedOn(i, first_gpu).end;
    std::vector<EndLimit> limits;
    for (const int d : choices_) {
      if (!space_.CanPlace(first_gpu, space_.num_gpus(d))) continue;
      limits.push_back({tables_.At(d).time_s.LastEndWithin(
                            layout_, begin, latest_end_[i], bounds_.time_s),
                        d});
    }
    std::stable_sort(
        limits.begin(), limits.end(),
        [](const EndLimit& a, const EndLimit& b) { return a.end > b.end; });
    return limits;
  }

  // Returns the furthest end in (`known`, `limit`], or -1.
  int FurthestEnd(int i, int degrees, int first_gpu, int known, int limit) {
    const Reached& before = ReachedOn(i, first_gpu);
    StageShape shape = {
        .begin = before.end,
        .degrees = degrees,
        .in_flight = InFlightMicrobatches(
            num_stages_ - 1 - i + tables_.options().trailing_stages,
            tables_.num_microbatches())};
    const bool last = i + 1 == num_stages_;
    int good = last ? latest_end_[i] - 1 : layout_.EarliestEnd(shape.begin) - 1;
    good = std::max(good, known);
    int bad = limit + 1;
    int found = -1;
    // Transfers are smallest at residual cuts, so feasibility is not monotone
    // between them. Few ends are therefore tried one by one from the last.
    while (bad - good > 1) {
      shape.end = bad - good > kFewEnds ? (good + bad) / 2 : bad - 1;
      if (KeepsToBounds(shape, first_gpu, before.backward_s)) {
        found = good = shape.end;
      } else {
        bad = shape.end;
      }
    }
    return found;
  }

  // Evaluates a stage with recomputation, its transfer and its synchronisation.
  bool KeepsToBounds(const StageShape& shape, int first_gpu,
                     double backward_before_s) {
    if (tables_.poll().stopped()) return false;
    if (!CanFit(tables_, shape)) return false;
    const StageFigures figures = EstimateFigures(tables_, shape);
    if (!figures.fits) return false;
    double time_s = figures.compute_s;
    if (shape.end < layout_.num_ops()) {
      const int size = space_.num_gpus(shape.degrees);
      const int next_gpu = first_gpu + size;
      if (next_gpu == num_gpus_) return false;
      const TransferPath path =
          PathWithin(tables_.island(), first_gpu, size, next_gpu,
                     std::min(size, num_gpus_ - next_gpu));
      time_s += SendSeconds(tables_, path, shape.end);
    }
    if (time_s > bounds_.time_s) return false;
    return bounds_.exposed_sync_s == kInfinity ||
           SyncSeconds(tables_, shape, figures) - backward_before_s <=
               bounds_.exposed_sync_s;
  }

  // Traces the stages back from reach(num_stages, num_gpus).
  Configuration ConfigurationOn(int num_gpus) {
    Configuration result = {.trailing_stages =
                                tables_.options().trailing_stages};
    result.stages.resize(num_stages_);
    int gpus = num_gpus;
    for (int i = num_stages_; i > 0; --i) {
      const Reached& reached = ReachedOn(i, gpus);
      StageShape& shape = result.stages[i - 1].shape;
      shape.degrees = reached.degrees;
      shape.end = reached.end;
      gpus -= space_.num_gpus(reached.degrees);
      shape.begin = ReachedOn(i - 1, gpus).end;
    }
    Complete(tables_, result);
    BalanceCuts(tables_, 0, num_stages_ - 1, result);
    return result;
  }

  CostTables& tables_;
  const SliceLayout& layout_;
  const DegreeSpace& space_;
  const StageBounds bounds_;
  const int num_stages_;
  const int num_gpus_;
  // The latest end of each stage that leaves room for the stages behind.
  std::vector<int> latest_end_;
  // Greatest common divisor of the GPUs that a stage may have. Stages of a
  // large island have hundreds of GPUs, so the table is small.
  int step_ = 0;
  // By number of stages, then of GPUs divided by step_.
  std::vector<std::vector<Reached>> reached_;
  // Indices of the degrees that a stage may have.
  std::vector<int> choices_;
  // By operator: a lower bound on the GPU-seconds of it and all after it.
  std::vector<double> work_from_;
};

// Returns bounds under which a configuration of the same latency has a lower
// score. Either the slowest stage is faster, or synchronisation is hidden and
// the slowest stage may take the time that this frees. For a configuration that
// does not fit, the bound admits every score up to `limit_s`.
std::vector<StageBounds> BoundsToBeat(const CostTables& tables,
                                      const Configuration& configuration,
                                      double limit_s) {
  if (configuration.bytes_short > 0) {
    return {{.time_s = limit_s / tables.num_microbatches()}};
  }
  double latency_s = 0;
  double slowest_s = 0;
  for (const ConfiguredStage& stage : configuration.stages) {
    latency_s += stage.time_s();
    slowest_s = std::max(slowest_s, stage.time_s());
  }
  const int repeats = tables.num_microbatches() - 1;
  const double exposed_s =
      configuration.score_s - latency_s - repeats * slowest_s;
  std::vector<StageBounds> bounds = {
      {.time_s = slowest_s * (1 - kLeastReassignmentGain)}};
  if (repeats > 0 && exposed_s > kWorthHiding * configuration.score_s) {
    for (const double share : kSharesKept) {
      const double hidden_s = (1 - share) * exposed_s;
      bounds.push_back({.time_s = (slowest_s + hidden_s / repeats) *
                                  (1 - kLeastReassignmentGain),
                        .exposed_sync_s = share * exposed_s});
    }
  }
  return bounds;
}

// Reverses the order of the stages' degrees and keeps the result if it is
// better. Exposed synchronisation and lack of memory mostly arise in the first
// stages.
bool Mirror(CostTables& tables, Configuration& configuration) {
  Configuration mirrored = configuration;
  std::vector<int> sizes;
  for (int i = 0; i < mirrored.num_stages(); ++i) {
    const int degrees =
        configuration.stages[mirrored.num_stages() - 1 - i].shape.degrees;
    mirrored.stages[i].shape.degrees = degrees;
    sizes.push_back(tables.space().num_gpus(degrees));
  }
  if (!tables.space().IsPlaceable(sizes)) return false;
  Complete(tables, mirrored);
  BalanceCuts(tables, 0, mirrored.num_stages() - 1, mirrored);
  if (!IsBetter(mirrored, configuration)) return false;
  configuration = std::move(mirrored);
  return true;
}

// Tries the bounds in order and keeps the first configuration that is better.
bool AssignBetter(CostTables& tables, double limit_s,
                  Configuration& configuration) {
  for (const StageBounds& bounds :
       BoundsToBeat(tables, configuration, limit_s)) {
    auto assigned =
        GpuAssigner(tables, configuration.num_stages(), bounds).Assign();
    if (!assigned || !IsBetter(*assigned, configuration)) continue;
    configuration = *std::move(assigned);
    return true;
  }
  return false;
}

}  // namespace

bool ReassignGpus(CostTables& tables, double limit_s,
                  Configuration& configuration) {
  bool changed = Mirror(tables, configuration);
  for (int round = 0; round < kMaxReassignments; ++round) {
    if (!AssignBetter(tables, limit_s, configuration)) break;
    changed = true;
  }
  return changed;
}

}  // namespace tangram::aceso
