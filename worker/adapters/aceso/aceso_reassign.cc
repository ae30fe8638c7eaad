#include "worker/adapters/aceso/aceso_reassign.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "worker/adapters/aceso/aceso_balance.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kMaxRounds = 2;
constexpr double kLeastGain = 0.005;  // By which each round lowers its bound.
// Synchronisation that is a smaller share of the score is left as it is.
constexpr double kWorthHiding = 0.01;
constexpr double kSharesKept[] = {0.5, 0.0};
// Stages this many times smaller than the mean are not assigned out.
constexpr int kLeastPartOfMean = 8;

constexpr int kFewEnds = 16;  // Operators; a layer has 10.

// What a stage may take for a microbatch, and how much of its synchronisation
// the backward passes of the stages in front may leave uncovered.
struct StageBounds {
  double time_s = kInfinite;
  double exposed_sync_s = kInfinite;
};

// Under given bounds, the furthest operator that the first i stages reach on
// the first g GPUs:
//   reach(i + 1, g + |d|) = max over degrees d of furthest end of stage i
//                           from reach(i, g) with d
// since a stage that begins later has less to do. The path to the next stage is
// taken to be between equal stages; cuts are balanced afterwards.
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
        reached_(num_stages + 1, std::vector<Reached>(num_gpus_ + 1)),
        work_from_(layout_.num_ops() + 1, 0) {
    for (int i = num_stages - 1; i > 0; --i) {
      latest_end_[i - 1] = layout_.LatestBegin(latest_end_[i]);
    }
    for (int d = 0; d < static_cast<int>(space_.choices().size()); ++d) {
      if (space_.num_gpus(d) * kLeastPartOfMean * num_stages >= num_gpus_) {
        choices_.push_back(d);
      }
    }
    for (int op = layout_.num_ops() - 1; op >= 0; --op) {
      work_from_[op] = work_from_[op + 1] + LeastWork(op);
    }
    reached_[0][0].end = 0;
  }

  std::optional<Configuration> Assign() {
    for (int i = 0; i < num_stages_; ++i) {
      for (int gpu = 0; gpu < num_gpus_; ++gpu) {
        if (IsPromising(i, gpu)) AddStage(i, gpu);
      }
    }
    const std::vector<Reached>& all = reached_.back();
    const auto complete =
        std::find_if(all.begin(), all.end(), [this](const Reached& reached) {
          return reached.end == layout_.num_ops();
        });
    if (complete == all.end()) return {};
    return ConfigurationOn(static_cast<int>(complete - all.begin()));
  }

 private:
  struct Reached {
    int end = -1;              // None: cannot be.
    int degrees = kNoDegrees;  // Of the last stage.
    double backward_s = 0;     // Of all.
  };

  // GPU-seconds of one operator with the degrees that need the fewest.
  double LeastWork(int op) {
    double least = kInfinite;
    for (const int d : choices_) {
      least = std::min(
          least, space_.num_gpus(d) * tables_.At(d).time_s.Over(
                                          layout_.at(op), layout_.at(op + 1)));
    }
    return least;
  }

  // Whether the GPUs left are enough for the stages and the work left.
  bool IsPromising(int stages, int gpus) const {
    const int end = reached_[stages][gpus].end;
    const int gpus_left = num_gpus_ - gpus;
    return end >= 0 && gpus_left >= num_stages_ - stages &&
           work_from_[end] <= bounds_.time_s * gpus_left;
  }

  void AddStage(int i, int first_gpu) {
    const Reached& before = reached_[i][first_gpu];
    for (const auto& [limit, d] : LimitsOf(i, first_gpu)) {
      const int size = space_.num_gpus(d);
      Reached& reached = reached_[i + 1][first_gpu + size];
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

  struct EndLimit {
    int end = 0;
    int degrees = kNoDegrees;
  };

  // Where stage `i` ends at the latest with each choice of degrees, furthest
  // first, so that what reaches less far is passed over.
  std::vector<EndLimit> LimitsOf(int i, int first_gpu) {
    const int begin = reached_[i][first_gpu].end;
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

  // The furthest end in (`known`, `limit`], or -1.
  int FurthestEnd(int i, int degrees, int first_gpu, int known, int limit) {
    const Reached& before = reached_[i][first_gpu];
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
    // The least transfers are at residual cuts, so that of few ends the last
    // one is to be found one by one.
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

  bool KeepsToBounds(const StageShape& shape, int first_gpu,
                     double backward_before_s) {
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
    return bounds_.exposed_sync_s == kInfinite ||
           SyncSeconds(tables_, shape, figures) - backward_before_s <=
               bounds_.exposed_sync_s;
  }

  Configuration ConfigurationOn(int num_gpus) {
    Configuration result = {.trailing_stages =
                                tables_.options().trailing_stages};
    result.stages.resize(num_stages_);
    int gpus = num_gpus;
    for (int i = num_stages_; i > 0; --i) {
      const Reached& reached = reached_[i][gpus];
      StageShape& shape = result.stages[i - 1].shape;
      shape.degrees = reached.degrees;
      shape.end = reached.end;
      gpus -= space_.num_gpus(reached.degrees);
      shape.begin = reached_[i - 1][gpus].end;
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
  std::vector<int> latest_end_;  // That leave room for the stages behind.
  std::vector<std::vector<Reached>> reached_;  // By stages, then GPUs.
  std::vector<int> choices_;                   // Of degrees.
  // GPU-seconds that the operators from each one on take at least.
  std::vector<double> work_from_;
};

// Bounds under which a configuration of the same latency would be better: a
// faster slowest stage, or no exposed synchronisation and the time that this
// leaves. Of one that does not fit, those of any that takes `limit_s` at most.
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
  std::vector<StageBounds> bounds = {{.time_s = slowest_s * (1 - kLeastGain)}};
  if (repeats > 0 && exposed_s > kWorthHiding * configuration.score_s) {
    for (const double share : kSharesKept) {
      const double hidden_s = (1 - share) * exposed_s;
      bounds.push_back(
          {.time_s = (slowest_s + hidden_s / repeats) * (1 - kLeastGain),
           .exposed_sync_s = share * exposed_s});
    }
  }
  return bounds;
}

// The stages' degrees in the opposite order: what is exposed of the
// synchronisation is mostly the first stages', and memory is theirs to lack.
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
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!AssignBetter(tables, limit_s, configuration)) break;
    changed = true;
  }
  return changed;
}

}  // namespace tangram::aceso
