#include "coordinator/planners/tangram/pair_reach.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace tangram {
namespace {

// The most probes of a scale at once. More take fewer rounds and more probes.
constexpr int kProbes = 4;

// Returns up to kProbes indices in (most, beyond), evenly spaced.
std::vector<int> Between(int most, int beyond) {
  const int inside = beyond - most - 1;
  const int num_probes = std::min(kProbes, inside);
  std::vector<int> indices;
  for (int p = 1; p <= num_probes; ++p) {
    indices.push_back(most + (inside + 1) * p / (num_probes + 1));
  }
  return indices;
}

}  // namespace

double PairReach::Scale::Most() const {
  return most < 0 ? 0 : steps[most].work;
}

// Without a slice that is known to be beyond, the bounds of pairs rule out all
// larger ones.
double PairReach::Scale::Beyond() const {
  return beyond < static_cast<int>(steps.size()) ? steps[beyond].work
         : steps.empty()                         ? 0
                                                 : steps.back().work;
}

// Slices without first and last atom are the steps of all that are not last. If
// the pipeline has no place for such, those with the first atom are.
PairReach::PairReach(const SearchSpace& space, absl::Span<const PairId> pairs)
    : space_(&space),
      scales_(space.microbatch_sizes.size() * space.island_classes.size() * 2) {
  const auto add = [&](const PairId& pair, bool is_last) {
    scales_[ScaleOf(pair, is_last)].steps.push_back({WorkOf(pair), pair});
  };
  const auto begins = [&](const PairId& pair) {
    return space.slices.MembersOf(pair.slice_class).front().begin == 0;
  };
  for (const PairId& pair : pairs) {
    const bool is_last = IsLast(pair.slice_class);
    if (is_last || !begins(pair)) add(pair, is_last);
  }
  std::vector<bool> has_middle;
  for (const Scale& scale : scales_) {
    has_middle.push_back(!scale.steps.empty());
  }
  for (const PairId& pair : pairs) {
    if (IsLast(pair.slice_class) || !begins(pair)) continue;
    if (!has_middle[ScaleOf(pair, false)]) add(pair, /*is_last=*/false);
  }
  for (Scale& scale : scales_) {
    absl::c_stable_sort(scale.steps, [](const auto& a, const auto& b) {
      return a.work < b.work;
    });
    scale.beyond = static_cast<int>(scale.steps.size());
  }
}

double PairReach::WorkOf(const PairId& pair) const {
  const AtomRange range = space_->slices.MembersOf(pair.slice_class).front();
  const WorkBounds& bounds = space_->bounds[pair.microbatch];
  return bounds.MeanWork(range.end) - bounds.MeanWork(range.begin);
}

size_t PairReach::ScaleOf(const PairId& pair, bool is_last) const {
  const size_t place =
      static_cast<size_t>(pair.microbatch) * space_->island_classes.size() +
      pair.island_class;
  return 2 * place + (is_last ? 1 : 0);
}

std::vector<PairId> PairReach::NextProbes(
    absl::FunctionRef<bool(const PairId&)> has_plans) {
  std::vector<PairId> probes;
  for (Scale& scale : scales_) {
    for (const int step : scale.asked) {
      if (has_plans(scale.steps[step].pair)) scale.most = step;
    }
    for (const int step : scale.asked) {
      if (step <= scale.most) continue;
      scale.beyond = step;
      break;
    }
    scale.asked = Between(scale.most, scale.beyond);
    for (const int step : scale.asked) {
      probes.push_back(scale.steps[step].pair);
    }
  }
  absl::c_sort(probes);
  return probes;
}

// Σ_{j ≠ i} r_j. One of the others may hold the last atom, unless the slice
// does.
double PairReach::OthersReach(const PairId& pair, bool is_last) const {
  double reach = 0;
  double most_more = 0;
  for (int i = 0; i < static_cast<int>(space_->island_classes.size()); ++i) {
    const size_t count = space_->island_classes[i].islands.size() -
                         (i == pair.island_class ? 1 : 0);
    if (count == 0) continue;
    const PairId there{.microbatch = pair.microbatch, .island_class = i};
    const double inner = scales_[ScaleOf(there, false)].HalfWay();
    const double last = scales_[ScaleOf(there, true)].HalfWay();
    reach += static_cast<double>(count) * inner;
    most_more = std::max(most_more, last - inner);
  }
  return is_last ? reach : reach + most_more;
}

bool PairReach::Reaches(const PairId& pair) const {
  const bool is_last = IsLast(pair.slice_class);
  const Scale& scale = scales_[ScaleOf(pair, is_last)];
  const double work = WorkOf(pair);
  const bool is_too_large =
      scale.beyond < static_cast<int>(scale.steps.size()) &&
      work >= scale.Beyond();
  if (is_too_large) return false;
  const WorkBounds& bounds = space_->bounds[pair.microbatch];
  // A little more, so that rounding does not decide.
  return bounds.MeanWork(space_->num_atoms()) - work <=
         OthersReach(pair, is_last) * (1 + 1e-9);
}

}  // namespace tangram
