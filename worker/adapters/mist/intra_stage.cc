#include "worker/adapters/mist/intra_stage.h"

#include <algorithm>
#include <optional>

#include "common/base/insert_non_dominated.h"

namespace tangram::mist {
namespace {

bool OffloadsNoMore(const HostOffload& a, const HostOffload& b) {
  return a.weights <= b.weights && a.gradients <= b.gradients &&
         a.optimizer <= b.optimizer && a.activations <= b.activations;
}

bool NoWorse(const StagePolicy& a, const StagePolicy& b) {
  return a.steady_s <= b.steady_s && a.extra_s <= b.extra_s;
}

// Returns the policy with the fewest recomputed layers, from 1 to `most`, that
// fits; none if `most` does not fit. Bisects.
std::optional<TunedPolicy> WithFewestRecomputed(int offload, int most,
                                                FiguresOf figures) {
  if (most == 0) return std::nullopt;
  PolicyFigures best = figures(offload, most);
  if (!best.fits) return std::nullopt;
  int too_few = 0;
  while (most - too_few > 1) {
    const int middle = too_few + (most - too_few) / 2;
    const PolicyFigures tried = figures(offload, middle);
    if (tried.fits) best = tried;
    (tried.fits ? most : too_few) = middle;
  }
  return TunedPolicy{
      .policy = best.policy, .offload = offload, .recomputed = most};
}

}  // namespace

// The front is small, so linear scans suffice.
bool PolicyFront::Covers(const StagePolicy& policy) const {
  return std::any_of(
      policies_.begin(), policies_.end(),
      [&](const TunedPolicy& kept) { return NoWorse(kept.policy, policy); });
}

void PolicyFront::Add(const TunedPolicy& found) {
  const auto law = [](const TunedPolicy& a, const TunedPolicy& b) {
    return NoWorse(a.policy, b.policy);
  };
  if (!InsertNonDominated(found, law, policies_)) return;
  const auto added = policies_.end() - 1;
  const auto after =
      std::find_if(policies_.begin(), added, [&](const TunedPolicy& kept) {
        return kept.policy.steady_s > found.policy.steady_s;
      });
  std::rotate(after, added, policies_.end());
}

// For each combination of offloads, in order:
// - skip it if one that offloads no more fits without recomputation;
// - skip it if the front covers it even without recomputation. If it offloads
//   activations, it must fit as well, since recomputing may save time;
// - else add it without recomputation, or with the fewest layers that fit.
// If the front covers even the first combination, no other can be better.
void TunePolicies(int degrees, absl::Span<const HostOffload> offloads,
                  int most_recomputed, FiguresOf figures, PolicyFront& front) {
  std::vector<int>
      enough;         // Indices of offloads that fit with nothing recomputed.
  StagePolicy bound;  // A lower bound for offloads of the same model state.
  for (int offload = 0; offload < static_cast<int>(offloads.size());
       ++offload) {
    const auto needless = [&](int less) {
      return OffloadsNoMore(offloads[less], offloads[offload]);
    };
    if (std::any_of(enough.begin(), enough.end(), needless)) continue;
    const bool keeps_activations = offloads[offload].activations == 0;
    if (!keeps_activations && front.Covers(bound)) continue;
    const PolicyFigures none = figures(offload, 0);
    if (keeps_activations) bound = none.policy;
    if (front.Covers(none.policy)) {
      if (offload == 0) return;
      if (keeps_activations || none.fits) continue;
    }
    if (none.fits) {
      enough.push_back(offload);
      front.Add(
          {.policy = none.policy, .degrees = degrees, .offload = offload});
      continue;
    }
    auto found = WithFewestRecomputed(offload, most_recomputed, figures);
    if (!found) continue;
    found->degrees = degrees;
    front.Add(*found);
  }
}

}  // namespace tangram::mist
