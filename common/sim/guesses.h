#ifndef TANGRAM_COMMON_SIM_GUESSES_H_
#define TANGRAM_COMMON_SIM_GUESSES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"

// The values of a cluster that nobody gave, and how much the time of a plan
// depends on each of them.
namespace tangram {

// A rate that was assumed (Cluster::assumptions): of links, or of a type of
// GPU.
struct Guess {
  std::string name;             // "link t4 to v100", "compute of T4"
  std::string value;            // "1.15 GB/s"
  std::string source;           // As in the assumption.
  bool between_groups = false;  // A link between groups of nodes.
  // Multiplies the rate by a positive factor.
  std::function<void(double factor, Cluster& cluster)> scale;
};

// Returns the rates that were assumed and that GPUs of `used` depend on: links
// between groups, between the nodes of a group and inside nodes, and the
// compute and memory bandwidth of types of GPU at `precision`. Each type of
// link between two groups is one guess, or all are one if they are many. The
// order is that of groups. `used` are GPUs of `cluster`.
std::vector<Guess> GuessesOf(const Cluster& cluster, Precision precision,
                             absl::Span<const GpuId> used);

// By which share a guess is off in GuessEffect.
inline constexpr double kGuessError = 0.2;

// A guess with the changes of the time of a plan, as a fraction of it, if the
// rate is less or more by kGuessError. Positive: it takes longer.
struct GuessEffect {
  Guess guess;
  double if_less = 0;
  double if_more = 0;

  double size() const;  // The greater of the two.
};

// Returns the effect of each guess on a plan that takes `seconds` on `cluster`:
// links between groups first, then those with the greatest effect. `judge`
// returns the seconds that the same plan takes on another cluster; it is called
// twice for each guess. Guesses that it cannot judge are left out.
std::vector<GuessEffect> EffectsOf(
    std::vector<Guess> guesses, const Cluster& cluster, double seconds,
    const std::function<absl::StatusOr<double>(const Cluster&)>& judge);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_GUESSES_H_
