// The closed form of the pipelines of a search, and the transfers in it.

#include <algorithm>

#include "common/base/infinity.h"
#include "common/cost/collectives.h"
#include "common/domain/closed_form.h"
#include "coordinator/planners/tangram/pair_search.h"

namespace tangram {
namespace {

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

}  // namespace

// Returns the seconds per microbatch for the activations of a slice boundary
// and their gradients on the way back. GPUs send in pairs: min(from, to) flows
// over min(from, to) pairs of nodes.
double PairSearch::TransferSecondsBetween(int microbatch, int atom,
                                          int from_island, int from_gpus,
                                          int to_island, int to_gpus) const {
  const int from_nodes =
      CeilDiv(from_gpus, space_.islands[from_island].spec.gpus_per_node);
  const int to_nodes =
      CeilDiv(to_gpus, space_.islands[to_island].spec.gpus_per_node);
  TransferPath path{.flows = std::min(from_gpus, to_gpus),
                    .node_pairs = std::min(from_nodes, to_nodes)};
  const double bytes = boundary_bytes_[microbatch][atom];
  path.link = island_links_[from_island][to_island];
  const double forward_s = TransferSeconds(bytes, path);
  path.link = island_links_[to_island][from_island];
  return forward_s + TransferSeconds(bytes, path);
}

// The stage before a boundary between slices also pays for the transfer, as in
// the composition.
double PairSearch::ClosedFormOf(const Finalist& finalist) const {
  ClosedForm form;
  for (size_t i = 0; i < finalist.slices.size(); ++i) {
    const ChosenSlice& slice = finalist.slices[i];
    const SlicePlan& plan = store_.PlansOf(slice.pair)[slice.plan];
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      const SliceStage& stage = plan.stages[s];
      double transfer_s = 0;
      if (s + 1 == plan.stages.size() && i + 1 < finalist.slices.size()) {
        const ChosenSlice& next = finalist.slices[i + 1];
        const SlicePlan& next_plan = store_.PlansOf(next.pair)[next.plan];
        transfer_s = TransferSecondsBetween(
            finalist.microbatch, next.atoms.begin, slice.island,
            stage.plan.parallelism.num_gpus(), next.island,
            next_plan.stages.front().plan.parallelism.num_gpus());
      }
      form.AddStage(stage.time_s + transfer_s, stage.backward_s, stage.sync_s);
    }
  }
  return form.Seconds(space_.bounds[finalist.microbatch].num_microbatches()) /
         rules_.chunks;
}

// min over microbatch sizes and allowed slices [b, e) of LB(b, e, island).
absl::StatusOr<double> PairSearch::LeastWithIsland(int island) const {
  double least_s = kInfinity;
  for (const WorkBounds& bounds : space_.bounds) {
    for (int begin = 0; begin < space_.num_atoms(); ++begin) {
      if (observer_.ShouldStop()) {
        return absl::CancelledError("planning stopped");
      }
      for (int end = begin + 1; end <= space_.num_atoms(); ++end) {
        if (!space_.Allows({begin, end}, island) ||
            bounds.ExceedsMemory({begin, end}, island)) {
          continue;
        }
        least_s = std::min(least_s,
                           bounds.PairIterationSeconds({begin, end}, island));
      }
    }
  }
  return least_s / rules_.chunks;
}

}  // namespace tangram
