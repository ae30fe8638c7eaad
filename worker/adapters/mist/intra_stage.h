#ifndef TANGRAM_WORKER_ADAPTERS_MIST_INTRA_STAGE_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_INTRA_STAGE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/domain/stage_plan.h"
#include "worker/adapters/mist/inter_stage.h"

// Mist's intra-stage tuning (2503.19050): for each choice of degrees and ZeRO
// stage, what to keep on the host and how many layers to recompute.
namespace tangram::mist {

// Fractions to try of each, ascending from 0.
struct OffloadGrid {
  absl::Span<const double> weights;
  absl::Span<const double> gradients;
  absl::Span<const double> optimizer;
  absl::Span<const double> activations;
};

// The combinations of the grid, each after all that offload no more of
// anything. Weights are offloaded only where gradients are, as upstream does.
std::vector<HostOffload> OffloadsOf(const OffloadGrid& grid);

struct TunedPolicy {
  StagePolicy policy;
  int degrees = 0;     // As the caller numbers them.
  int offload = 0;     // Index of the combination.
  int recomputed = 0;  // Layers.
};

// Policies of which none is at least as good as another in both T and D.
class PolicyFront {
 public:
  // Whether one is as good as `policy` already.
  bool Covers(const StagePolicy& policy) const;
  // Unless it is covered.
  void Add(const TunedPolicy& found);
  // By ascending T.
  absl::Span<const TunedPolicy> policies() const { return policies_; }

 private:
  std::vector<TunedPolicy> policies_;
};

// What a choice means for a stage.
struct PolicyFigures {
  StagePolicy policy;
  bool fits = false;
};
using FiguresOf = absl::FunctionRef<PolicyFigures(int offload, int recomputed)>;

// Adds the policies with these degrees to those with others. More recomputed
// layers take no less time, and from the first on no more memory, and
// offloading more takes no less time. So of each combination only the fewest
// layers with which it fits are of interest, none that offloads more than one
// that fits with nothing recomputed, and none that is covered even with nothing
// recomputed. Where activations are offloaded, recomputing leaves fewer to copy
// and may take less time: there the fewest layers are a good guess, and only
// what keeps the activations is a bound. `offloads` in the order of OffloadsOf,
// the first none.
void TunePolicies(int degrees, absl::Span<const HostOffload> offloads,
                  int most_recomputed, FiguresOf figures, PolicyFront& front);

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_INTRA_STAGE_H_
