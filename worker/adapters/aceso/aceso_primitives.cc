#include "worker/adapters/aceso/aceso_primitives.h"

#include <algorithm>
#include <array>

#include "absl/container/inlined_vector.h"
#include "worker/adapters/aceso/aceso_balance.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// No such stage.
constexpr int kNone = -1;

int GpusInUse(const DegreeSpace& space, const Configuration& configuration) {
  int gpus = 0;
  for (const ConfiguredStage& stage : configuration.stages) {
    gpus += space.num_gpus(stage.shape.degrees);
  }
  return gpus;
}

// Whether the stages, in order, respect node boundaries.
bool IsPlaceable(const DegreeSpace& space, const Configuration& configuration) {
  absl::InlinedVector<int, 16> sizes;
  for (const ConfiguredStage& stage : configuration.stages) {
    sizes.push_back(space.num_gpus(stage.shape.degrees));
  }
  return space.IsPlaceable(sizes);
}

// New degrees for a stage, and its time with them for the same operators.
struct DegreeChange {
  int stage = kNone;
  int degrees = kNoDegrees;
  double compute_s = 0;
};

// One attempt to move GPUs between stages. A stage whose degrees change is
// touched and does not change again.
class GpuExchange {
 public:
  GpuExchange(CostTables& tables, const Configuration& configuration)
      : tables_(tables),
        space_(tables.space()),
        configuration_(configuration),
        touched_(configuration.stages.size(), false),
        spare_gpus_(tables.island().num_gpus() -
                    GpusInUse(space_, configuration)) {}

  int spare_gpus() const { return spare_gpus_; }

  void SetDegrees(int stage, int degrees) {
    StageShape& shape = configuration_.stages[stage].shape;
    spare_gpus_ += space_.num_gpus(shape.degrees) - space_.num_gpus(degrees);
    shape.degrees = degrees;
    touched_[stage] = true;
  }

  // Returns degree changes that free GPUs of untouched stages. The one with the
  // least resulting stage time comes first.
  std::vector<DegreeChange> Givers() {
    std::vector<DegreeChange> givers;
    for (int i = 0; i < configuration_.num_stages(); ++i) {
      const DegreeChange giver =
          Best(i, {DegreeStep::kLessTp, DegreeStep::kLessDp});
      if (giver.stage != kNone) givers.push_back(giver);
    }
    std::stable_sort(givers.begin(), givers.end(),
                     [](const DegreeChange& a, const DegreeChange& b) {
                       return a.compute_s < b.compute_s;
                     });
    return givers;
  }

  // Gives spare GPUs to untouched stages, the slowest first, while any can use
  // them.
  void HandOutSpareGpus() {
    while (spare_gpus_ > 0) {
      DegreeChange taker;
      double slowest_s = 0;
      for (int i = 0; i < configuration_.num_stages(); ++i) {
        const double time_s = configuration_.stages[i].time_s();
        if (time_s <= slowest_s) continue;
        const DegreeChange grown =
            Best(i, {DegreeStep::kMoreTp, DegreeStep::kMoreDp});
        if (grown.stage == kNone) continue;
        slowest_s = time_s;
        taker = grown;
      }
      if (taker.stage == kNone) return;
      SetDegrees(taker.stage, taker.degrees);
    }
  }

  // Returns the configuration after balancing the cuts between touched stages.
  // Empty if its stages cannot be placed.
  std::optional<Configuration> Finish() {
    if (spare_gpus_ < 0 || !IsPlaceable(space_, configuration_)) return {};
    Complete(tables_, configuration_);
    const auto first = std::find(touched_.begin(), touched_.end(), true);
    const auto last = std::find(touched_.rbegin(), touched_.rend(), true);
    BalanceCuts(tables_, static_cast<int>(first - touched_.begin()),
                static_cast<int>(touched_.rend() - last) - 1, configuration_);
    return configuration_;
  }

 private:
  // Returns the faster of `steps` for an untouched stage, among those that the
  // spare GPUs allow.
  DegreeChange Best(int stage, const std::array<DegreeStep, 2>& steps) {
    DegreeChange best;
    if (touched_[stage]) return best;
    const StageShape& shape = configuration_.stages[stage].shape;
    for (const DegreeStep step : steps) {
      StageShape stepped = shape;
      stepped.degrees = space_.Step(shape.degrees, step);
      if (stepped.degrees == kNoDegrees) continue;
      const int more =
          space_.num_gpus(stepped.degrees) - space_.num_gpus(shape.degrees);
      if (more > std::max(0, spare_gpus_)) continue;
      const double compute_s = EstimateFigures(tables_, stepped).compute_s;
      if (best.stage != kNone && best.compute_s <= compute_s) continue;
      best = {stage, stepped.degrees, compute_s};
    }
    return best;
  }

  CostTables& tables_;
  const DegreeSpace& space_;
  Configuration configuration_;
  std::vector<bool> touched_;
  int spare_gpus_;  // Negative while stages still have to free GPUs.
};

// Gives the bottleneck more GPUs. If none are spare, other stages free them:
// the attempt is repeated with each stage as the first giver until one can be
// placed.
std::optional<Configuration> Grow(CostTables& tables,
                                  const Configuration& configuration,
                                  int bottleneck, int degrees) {
  GpuExchange start(tables, configuration);
  start.SetDegrees(bottleneck, degrees);
  if (start.spare_gpus() >= 0) return start.Finish();
  for (const DegreeChange& first : start.Givers()) {
    GpuExchange exchange = start;
    exchange.SetDegrees(first.stage, first.degrees);
    while (exchange.spare_gpus() < 0) {
      const std::vector<DegreeChange> givers = exchange.Givers();
      if (givers.empty()) return {};
      exchange.SetDegrees(givers[0].stage, givers[0].degrees);
    }
    exchange.HandOutSpareGpus();
    if (auto result = exchange.Finish()) return result;
  }
  return {};
}

// Takes GPUs from the bottleneck and gives them to the slowest other stages.
std::optional<Configuration> Shrink(CostTables& tables,
                                    const Configuration& configuration,
                                    int bottleneck, int degrees) {
  GpuExchange exchange(tables, configuration);
  exchange.SetDegrees(bottleneck, degrees);
  exchange.HandOutSpareGpus();
  return exchange.Finish();
}

// Returns the stage of [begin, end) with the lowest load: peak memory while
// some stage does not fit, else time. The first of equals; kNone if the range
// is empty.
int LeastLoaded(const Configuration& configuration, int begin, int end) {
  const bool by_memory = configuration.bytes_short > 0;
  const auto load = [&](int i) {
    const ConfiguredStage& stage = configuration.stages[i];
    return by_memory ? stage.figures.peak_bytes : stage.time_s();
  };
  int least = begin < end ? begin : kNone;
  for (int i = begin + 1; i < end; ++i) {
    if (load(i) < load(least)) least = i;
  }
  return least;
}

// Balances the cuts from the least loaded stage before the bottleneck to the
// least loaded one after it.
std::optional<Configuration> MoveOperators(CostTables& tables,
                                           const Configuration& configuration,
                                           int bottleneck) {
  const int before = LeastLoaded(configuration, 0, bottleneck);
  const int after =
      LeastLoaded(configuration, bottleneck + 1, configuration.num_stages());
  const int first = before == kNone ? bottleneck : before;
  const int last = after == kNone ? bottleneck : after;
  Configuration result = configuration;
  if (!BalanceCuts(tables, first, last, result)) return {};
  return result;
}

// Changes the bottleneck's degrees on the same number of GPUs.
std::optional<Configuration> Exchange(CostTables& tables,
                                      const Configuration& configuration,
                                      int bottleneck, int degrees) {
  GpuExchange exchange(tables, configuration);
  exchange.SetDegrees(bottleneck, degrees);
  return exchange.Finish();
}

DegreeStep StepOf(Primitive primitive) {
  switch (primitive) {
    case Primitive::kMoreTp:
      return DegreeStep::kMoreTp;
    case Primitive::kMoreDp:
      return DegreeStep::kMoreDp;
    case Primitive::kLessTp:
      return DegreeStep::kLessTp;
    case Primitive::kLessDp:
      return DegreeStep::kLessDp;
    case Primitive::kMoveOperators:
    case Primitive::kTpForDp:
      return DegreeStep::kTpForDp;
    case Primitive::kDpForTp:
      return DegreeStep::kDpForTp;
  }
  return DegreeStep::kTpForDp;
}

}  // namespace

// The table of the paper (Table 1), for the bottleneck stage.
PrimitiveEffects EffectsOf(Primitive primitive) {
  constexpr Effect kLess = Effect::kLess;
  constexpr Effect kSame = Effect::kSame;
  constexpr Effect kMore = Effect::kMore;
  switch (primitive) {
    case Primitive::kMoveOperators:
      return {.time = kLess, .memory = kLess, .communication = kSame};
    case Primitive::kMoreTp:
    case Primitive::kMoreDp:
      return {.time = kLess, .memory = kLess, .communication = kMore};
    case Primitive::kLessTp:
    case Primitive::kLessDp:
      return {.time = kMore, .memory = kMore, .communication = kLess};
    case Primitive::kTpForDp:
      return {.time = kSame, .memory = kLess, .communication = kMore};
    case Primitive::kDpForTp:
      return {.time = kSame, .memory = kMore, .communication = kLess};
  }
  return {};
}

std::optional<Configuration> Apply(CostTables& tables, Primitive primitive,
                                   const Configuration& configuration,
                                   int bottleneck) {
  if (primitive == Primitive::kMoveOperators) {
    return MoveOperators(tables, configuration, bottleneck);
  }
  const int degrees = tables.space().Step(
      configuration.stages[bottleneck].shape.degrees, StepOf(primitive));
  if (degrees == kNoDegrees) return {};
  switch (primitive) {
    case Primitive::kMoreTp:
    case Primitive::kMoreDp:
      return Grow(tables, configuration, bottleneck, degrees);
    case Primitive::kLessTp:
    case Primitive::kLessDp:
      return Shrink(tables, configuration, bottleneck, degrees);
    case Primitive::kMoveOperators:
    case Primitive::kTpForDp:
    case Primitive::kDpForTp:
      break;
  }
  return Exchange(tables, configuration, bottleneck, degrees);
}

}  // namespace tangram::aceso
