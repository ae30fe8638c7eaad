#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_SEARCH_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_input.h"

namespace tangram {

struct HexiscalePlans {
  // The different plans that fit by HexiScale's memory model, best first.
  std::vector<HexiscalePlan> plans;
  // If there are none: the bytes that the closest candidate lacks on a GPU.
  double bytes_short = 0;
  bool stopped = false;
};

// HexiScale's search. Each iteration makes a candidate:
//  1. A number of pipelines p within [n / L + 1, n / 5] for n GPUs and L
//     layers, and of groups for each of them, 1 to 3. DivideGpus and
//     DivideIntoGroups.
//  2. LayOutPipeline, and microbatches for each pipeline.
//  3. Candidates with a pipeline that exceeds its memory (MakeFit) are dropped.
// The numbers are random: p walks by one up or down, and groups are
// 1 + Binomial(2, 0.2). But unless random_walk is set, a few p over the whole
// range, and below it if microbatches are not constant, are tried with 1, 2 and
// 3 groups before.
//
// The inputs, of which there is at least one, may have unlike microbatches, and
// unlike speeds with them. GPUs are divided once for all, by the first.
// Deterministic. `should_stop` is polled once an iteration.
HexiscalePlans SearchHexiscale(absl::Span<const HexiscaleInput> inputs,
                               const std::function<bool()>& should_stop);

// Returns how many microbatches each pipeline runs, `num_microbatches` in all,
// so that the slowest pipeline ends soonest: each microbatch goes to the one
// that ends first with it.
std::vector<int> ShareMicrobatches(
    const HexiscaleInput& input,
    const std::vector<HexiscalePipeline>& pipelines, int samples,
    int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_SEARCH_H_
