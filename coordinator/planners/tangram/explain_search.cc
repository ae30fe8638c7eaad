#include "coordinator/planners/tangram/explain_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/planner/keep_closest.h"

namespace tangram {
namespace {

// Pipelines that take longer by this factor need no exact figure.
constexpr double kMuchLonger = 1.1;

// Returns the bytes of the GPUs of all usable islands, each GPU with its own
// memory. The island counts every GPU as its weakest.
double OwnBytes(const SearchSpace& space, const Cluster& cluster) {
  double bytes = 0;
  for (const Island& island : space.islands) {
    if (!space.rules.IsUsable(island.id)) continue;
    for (const int index : island.nodes) {
      const Node& node = cluster.nodes[index];
      bytes += node.num_gpus * (node.device.memory_bytes -
                                node.device.efficiency.reserved_bytes);
    }
  }
  return bytes;
}

// Returns the bytes that the islands lack at least; zero or less: none proven.
// With M_m(a, i) the bytes of atom a on island i at microbatch size m,
//
//   min over m of (Σ_a min_i M_m(a, i) − usable bytes of the islands).
double IslandBytesShort(const SearchSpace& space) {
  double least = kInfinity;
  for (const WorkBounds& bounds : space.bounds) {
    double needed = 0;
    for (int a = 0; a < space.num_atoms(); ++a) {
      needed += bounds.LeastBytes({a, a + 1});
    }
    least = std::min(least, needed - bounds.UsableBytes());
  }
  return least;
}

// Returns "3 more A100-80": how many of the GPUs with most memory `bytes` need.
std::string MoreGpus(const SearchSpace& space, double bytes) {
  const DeviceSpec* largest = nullptr;
  double most_bytes = 0;
  for (const Island& island : space.islands) {
    const DeviceSpec& device = island.spec.device;
    const double usable_bytes =
        device.memory_bytes - device.efficiency.reserved_bytes;
    if (usable_bytes <= most_bytes) continue;
    largest = &device;
    most_bytes = usable_bytes;
  }
  if (largest == nullptr) return "GPUs with more memory";
  return absl::StrFormat("%.0f more %s", std::ceil(bytes / most_bytes),
                         largest->type);
}

// Returns "2.5 s, 1.2 % longer" or "... shorter", as against `reference_s`.
std::string Compared(double seconds, double reference_s) {
  const double percent = 100 * (seconds / reference_s - 1);
  return absl::StrFormat("%.4g s, %.1f %% %s", seconds, std::abs(percent),
                         percent < 0 ? "shorter" : "longer");
}

}  // namespace

// If the whole cluster lacks bytes, the reason says how many and which GPUs to
// add. Otherwise it is that of the infeasible answer with the fewest bytes
// short.
Infeasible WhyNothingFits(const SearchSpace& space, const Cluster& cluster,
                          const PairStore& store) {
  int num_gpus = 0;
  for (const Island& island : space.islands) {
    if (space.rules.IsUsable(island.id)) num_gpus += island.spec.num_gpus();
  }
  const double bytes_short = IslandBytesShort(space);
  if (bytes_short > 0) {
    // Unlike GPUs need different bytes, so merged islands prove nothing.
    const bool is_proved = !space.merges_islands &&
                           bytes_short + space.bounds.front().UsableBytes() >
                               OwnBytes(space, cluster);
    return {.reason = absl::StrFormat(
                "the model does not fit in the memory of the cluster's %d "
                "GPUs, %s: %.1f GB short in all, which takes at least %s",
                num_gpus,
                is_proved ? "however it is sharded"
                          : "each taken for the weakest of its island",
                bytes_short / 1e9, MoreGpus(space, bytes_short)),
            .bytes_short = bytes_short / num_gpus};
  }
  std::optional<Infeasible> closest;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      for (int i = 0; i < static_cast<int>(space.island_classes.size()); ++i) {
        const auto& infeasible = store.InfeasibleOf({m, s, i});
        if (!infeasible.has_value() ||
            (closest.has_value() && !IsCloser(*infeasible, *closest))) {
          continue;
        }
        const AtomRange atoms = space.slices.MembersOf(s).front();
        closest = Infeasible{
            .reason = absl::StrCat(
                "no slice plans cover the model; closest: ", atoms.size(),
                " of ", space.num_atoms(), " atoms on ",
                space.islands[space.island_classes[i].islands.front()].name,
                ": ", infeasible->reason),
            .bytes_short = infeasible->bytes_short};
      }
    }
  }
  return closest.value_or(
      Infeasible{.reason = "no slice plans cover the model"});
}

// Tries three sources of a time, the most exact first: the judge's for a
// proposal with the island, the closed form of the best composition with it if
// that is at most kMuchLonger times the chosen one, and the lower bound of its
// pairs.
absl::StatusOr<UnusedIsland> ExplainUnused(const Island& island, uint32_t alike,
                                           const Finalist& chosen,
                                           const Judgement& judgement,
                                           double min_island_gain,
                                           PairSearch& search) {
  UnusedIsland unused{.island = island.id};
  const double chosen_s =
      judgement.proposals[judgement.chosen].iteration_time_s;
  for (const JudgedProposal& pipeline : judgement.proposals) {
    // An alike island can give its place to this one.
    const bool can_use_it = (pipeline.islands & alike) != 0;
    if (!can_use_it || !pipeline.fits()) continue;
    unused.best_with_it_s = std::min(unused.best_with_it_s.value_or(kInfinity),
                                     pipeline.iteration_time_s);
  }
  if (unused.best_with_it_s.has_value()) {
    unused.reason = absl::StrCat("the best pipeline found that uses it takes ",
                                 Compared(*unused.best_with_it_s, chosen_s));
    if (*unused.best_with_it_s < chosen_s) {
      absl::StrAppendFormat(&unused.reason,
                            "; more islands must bring at least %.1f %%",
                            100 * min_island_gain);
    }
    return unused;
  }
  const double limit_s = chosen.closed_form_s * kMuchLonger;
  TANGRAM_ASSIGN_OR_RETURN(
      const double with_s,
      search.BestWithIsland(island.id, chosen.microbatch, limit_s));
  if (with_s < kInfinity) {
    unused.best_with_it_s = with_s;
    unused.reason =
        absl::StrCat("the best pipeline found that uses it takes about ",
                     Compared(with_s, chosen.closed_form_s));
    return unused;
  }
  TANGRAM_ASSIGN_OR_RETURN(const double least_s,
                           search.LeastWithIsland(island.id));
  if (least_s == kInfinity) {
    unused.reason = "not even one layer fits in its memory";
  } else if (least_s > chosen.closed_form_s) {
    unused.reason = absl::StrCat(
        "even with perfect balance a pipeline that uses it takes at least ",
        Compared(least_s, chosen.closed_form_s));
  } else {
    unused.reason = absl::StrFormat(
        "no pipeline found that uses it is less than %.0f %% longer",
        100 * (kMuchLonger - 1));
  }
  return unused;
}

}  // namespace tangram
