#include "worker/adapters/aceso/aceso_policy.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tangram::aceso {
namespace {

constexpr std::array<Primitive, kNumPrimitives> kAllPrimitives = {
    Primitive::kMoveOperators, Primitive::kMoreDp, Primitive::kMoreTp,
    Primitive::kLessDp,        Primitive::kLessTp, Primitive::kTpForDp,
    Primitive::kDpForTp};

// A resource of the bottleneck that a primitive can save.
enum class Resource { kWork, kLostWork, kRecompute };

// A stage's use of each resource in seconds: its operators' GPU-seconds on one
// GPU divided by its GPUs, the time lost to parallelising them, and the
// recomputation.
struct Shares {
  double work = 0;
  double lost_work = 0;
  double recompute = 0;
};

Shares SharesOf(CostTables& tables, const ConfiguredStage& stage) {
  // The first choice of degrees has the fewest GPUs, usually one.
  const DegreeTable& single = tables.At(0);
  const double gpus =
      static_cast<double>(tables.space().num_gpus(stage.shape.degrees)) /
      tables.space().num_gpus(0);
  const double work = single.time_s.Over(tables.layout().at(stage.shape.begin),
                                         tables.layout().at(stage.shape.end)) /
                      gpus;
  return {.work = work,
          .lost_work = std::max(
              0.0, stage.figures.compute_s - stage.figures.recompute_s - work),
          .recompute = stage.figures.recompute_s};
}

// Recomputation falls when a primitive frees memory.
bool Saves(const PrimitiveEffects& effects, Resource resource) {
  switch (resource) {
    case Resource::kWork:
      return effects.time == Effect::kLess;
    case Resource::kLostWork:
      return effects.communication == Effect::kLess;
    case Resource::kRecompute:
      return effects.memory == Effect::kLess;
  }
  return false;
}

// Resources that a primitive should not spend: the bottleneck uses more of them
// than the mean stage, or recomputes because memory is short.
struct Scarce {
  bool work = false;
  bool lost_work = false;
  bool memory = false;
};

// Returns whether a primitive that saves `saved` spends no other scarce
// resource.
bool Spares(const PrimitiveEffects& effects, const Scarce& scarce,
            Resource saved) {
  if (saved != Resource::kWork && scarce.work &&
      effects.time == Effect::kMore) {
    return false;
  }
  if (saved != Resource::kLostWork && scarce.lost_work &&
      effects.communication == Effect::kMore) {
    return false;
  }
  return saved == Resource::kRecompute || !scarce.memory ||
         effects.memory != Effect::kMore;
}

// Moves the primitives that `wanted` accepts from `left` into a new group,
// unless it would be empty.
template <typename Wanted>
void TakeGroup(const Wanted& wanted, PrimitiveGroup& left,
               std::vector<PrimitiveGroup>& groups) {
  PrimitiveGroup group;
  PrimitiveGroup rest;
  for (const Primitive primitive : left) {
    (wanted(EffectsOf(primitive)) ? group : rest).push_back(primitive);
  }
  if (!group.empty()) groups.push_back(std::move(group));
  left = std::move(rest);
}

// Returns 0 when no stage uses the resource.
double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::vector<int> StagesByBottleneck(const Configuration& configuration) {
  const bool by_memory = configuration.bytes_short > 0;
  std::vector<int> order(configuration.stages.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const ConfiguredStage& left = configuration.stages[a];
    const ConfiguredStage& right = configuration.stages[b];
    return by_memory ? left.figures.peak_bytes > right.figures.peak_bytes
                     : left.time_s() > right.time_s();
  });
  return order;
}

std::vector<PrimitiveGroup> PrimitiveGroups(CostTables& tables,
                                            const Configuration& configuration,
                                            int bottleneck) {
  PrimitiveGroup left(kAllPrimitives.begin(), kAllPrimitives.end());
  std::vector<PrimitiveGroup> groups;
  if (configuration.bytes_short > 0) {
    TakeGroup(
        [](const PrimitiveEffects& effects) {
          return Saves(effects, Resource::kRecompute);
        },
        left, groups);
    return groups;
  }

  Shares total;
  for (const ConfiguredStage& stage : configuration.stages) {
    const Shares shares = SharesOf(tables, stage);
    total.work += shares.work;
    total.lost_work += shares.lost_work;
    total.recompute += shares.recompute;
  }
  const Shares own = SharesOf(tables, configuration.stages[bottleneck]);
  const int num_stages = configuration.num_stages();
  const Scarce scarce = {
      .work = own.work * num_stages > total.work,
      .lost_work = own.lost_work * num_stages > total.lost_work,
      .memory = own.recompute > 0};

  std::array<std::pair<double, Resource>, 3> ratios = {
      {{Ratio(own.work, total.work), Resource::kWork},
       {Ratio(own.lost_work, total.lost_work), Resource::kLostWork},
       {Ratio(own.recompute, total.recompute), Resource::kRecompute}}};
  std::stable_sort(
      ratios.begin(), ratios.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [ratio, resource] : ratios) {
    TakeGroup(
        [&, saved = resource](const PrimitiveEffects& effects) {
          return Saves(effects, saved) && Spares(effects, scarce, saved);
        },
        left, groups);
    TakeGroup(
        [saved = resource](const PrimitiveEffects& effects) {
          return Saves(effects, saved);
        },
        left, groups);
  }
  if (!left.empty()) groups.push_back(left);
  return groups;
}

}  // namespace tangram::aceso
