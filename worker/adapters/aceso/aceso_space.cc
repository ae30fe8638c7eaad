#include "worker/adapters/aceso/aceso_space.h"

#include <algorithm>

#include "common/domain/stage_rules.h"

namespace tangram::aceso {
namespace {

// Whether a limit admits a value; 0 means no limit.
bool IsFreeOr(int limit, int value) { return limit == 0 || limit == value; }

// Appends all choices within `limits` for `num_gpus` GPUs, `in_node` of them in
// each node.
void AppendChoices(const SliceLayout& layout, int num_gpus, int in_node,
                   int microbatch_size, const StageLimits& limits,
                   std::vector<Degrees>& choices) {
  if (!IsFreeOr(limits.gpus_per_stage, num_gpus) ||
      !IsFreeOr(limits.cp_degree, 1)) {
    return;
  }
  for (int tp = 1; tp <= in_node; ++tp) {
    const int dp = num_gpus / tp;
    if (in_node % tp != 0 || microbatch_size % dp != 0 ||
        !IsFreeOr(limits.tp_degree, tp) || !IsFreeOr(limits.dp_degree, dp) ||
        (dp > 1 && limits.zero_stage.value_or(0) > 0)) {
      continue;
    }
    const bool splits = std::all_of(
        layout.kinds().begin(), layout.kinds().end(),
        [tp](const LayerSpec& layer) { return SplitsMixer(layer, tp); });
    if (splits) choices.push_back({.tp_degree = tp, .dp_degree = dp});
  }
}

}  // namespace

// Stage sizes are 1, 2, 4, ... GPUs below a node, then whole nodes.
DegreeSpace::DegreeSpace(const SliceLayout& layout, const IslandSpec& island,
                         int pipeline_microbatch_size)
    : island_gpus_(island.num_gpus()), gpus_per_node_(island.gpus_per_node) {
  for (int gpus = 1; gpus < gpus_per_node_; gpus *= 2) {
    AppendChoices(layout, gpus, gpus, pipeline_microbatch_size, island.limits,
                  choices_);
  }
  for (int nodes = 1; nodes <= island.num_nodes; ++nodes) {
    AppendChoices(layout, nodes * gpus_per_node_, gpus_per_node_,
                  pipeline_microbatch_size, island.limits, choices_);
  }
  for (const Degrees& degrees : choices_) {
    if (stage_sizes_.empty() || stage_sizes_.back() != degrees.num_gpus()) {
      stage_sizes_.push_back(degrees.num_gpus());
    }
    std::array<int, kNumDegreeSteps>& steps = steps_.emplace_back();
    for (int step = 0; step < kNumDegreeSteps; ++step) {
      steps[step] = FindStep(degrees, static_cast<DegreeStep>(step));
    }
  }
}

// Finds the nearest choice in the direction of `step`.
int DegreeSpace::FindStep(const Degrees& from, DegreeStep step) const {
  const auto leads_there = [&](const Degrees& to) {
    switch (step) {
      case DegreeStep::kMoreTp:
        return to.dp_degree == from.dp_degree && to.tp_degree > from.tp_degree;
      case DegreeStep::kMoreDp:
        return to.tp_degree == from.tp_degree && to.dp_degree > from.dp_degree;
      case DegreeStep::kLessTp:
        return to.dp_degree == from.dp_degree && to.tp_degree < from.tp_degree;
      case DegreeStep::kLessDp:
        return to.tp_degree == from.tp_degree && to.dp_degree < from.dp_degree;
      case DegreeStep::kTpForDp:
        return to.num_gpus() == from.num_gpus() &&
               to.tp_degree > from.tp_degree;
      case DegreeStep::kDpForTp:
        return to.num_gpus() == from.num_gpus() &&
               to.tp_degree < from.tp_degree;
    }
    return false;
  };
  // Choices ascend in tp for the same number of GPUs. The nearest larger choice
  // is the first match, the nearest smaller the last.
  const bool up = step == DegreeStep::kMoreTp || step == DegreeStep::kMoreDp ||
                  step == DegreeStep::kTpForDp;
  int found = kNoDegrees;
  for (int i = 0; i < static_cast<int>(choices_.size()); ++i) {
    if (!leads_there(choices_[i])) continue;
    found = i;
    if (up) break;
  }
  return found;
}

// Stages take GPUs in order without gaps.
bool DegreeSpace::IsPlaceable(absl::Span<const int> sizes) const {
  int first_gpu = 0;
  for (const int size : sizes) {
    if (!CanPlace(first_gpu, size)) return false;
    first_gpu += size;
  }
  return true;
}

// Enlarges stages in turn until no stage can grow.
std::vector<int> BalancedStageSizes(const DegreeSpace& space,
                                    const IslandSpec& island, int num_stages) {
  if (num_stages > island.num_gpus()) return {};
  const absl::Span<const int> choices = space.stage_sizes();
  std::vector<int> levels(num_stages, 0);
  std::vector<int> sizes(num_stages, choices[0]);
  if (!space.IsPlaceable(sizes)) return {};
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < num_stages; ++i) {
      if (levels[i] + 1 == static_cast<int>(choices.size())) continue;
      sizes[i] = choices[levels[i] + 1];
      if (space.IsPlaceable(sizes)) {
        ++levels[i];
        changed = true;
      } else {
        sizes[i] = choices[levels[i]];
      }
    }
  }
  return sizes;
}

}  // namespace tangram::aceso
