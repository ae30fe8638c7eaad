#ifndef TANGRAM_WORKER_ADAPTERS_MIST_INTRA_STAGE_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_INTRA_STAGE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/domain/stage_plan.h"
#include "worker/adapters/mist/inter_stage.h"

// Mist's intra-stage tuning (2503.19050). For each choice of degrees and ZeRO
// stage, chooses what to keep on the host and how many layers to recompute.
namespace tangram::mist {

// A policy and the choices behind it.
struct TunedPolicy {
  StagePolicy policy;
  int degrees = 0;     // The caller's index.
  int offload = 0;     // Index into the offloads.
  int recomputed = 0;  // Number of recompute steps.
};

// Policies of which none equals or beats another in both T and D.
class PolicyFront {
 public:
  // Returns whether a policy equals or beats `policy` in both.
  bool Covers(const StagePolicy& policy) const;
  // Adds `found` unless it is covered, and removes what it covers.
  void Add(const TunedPolicy& found);
  // Sorted by ascending T.
  absl::Span<const TunedPolicy> policies() const { return policies_; }

 private:
  std::vector<TunedPolicy> policies_;
};

// The policy that a choice gives, and whether it fits.
struct PolicyFigures {
  StagePolicy policy;
  bool fits = false;
};
using FiguresOf = absl::FunctionRef<PolicyFigures(int offload, int recomputed)>;

// Adds the policies of one set of degrees to those of others. Three facts
// restrict the search. Recomputing more layers takes no less time and, from the
// first on, no more memory. Offloading more takes no less time. So for each
// combination of offloads only the fewest layers with which it fits matter;
// combinations that offload more than one that fits without recomputation do
// not; and neither do combinations that are covered even without recomputation.
//
// If activations are offloaded, recomputing leaves fewer to copy and may save
// time. Then the fewest layers are only a good guess, and only combinations
// that keep the activations serve as bounds. Each of `offloads` must come after
// all that offload no more of anything, so none comes first.
void TunePolicies(int degrees, absl::Span<const HostOffload> offloads,
                  int most_recomputed, FiguresOf figures, PolicyFront& front);

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_INTRA_STAGE_H_
