#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_LAYOUT_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_LAYOUT_H_

#include <vector>

#include "absl/types/span.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_input.h"

// How HexiScale makes a pipeline of given GPUs. Pure.
namespace tangram {

// Returns the GPUs of each pipeline: `num_pipelines` parts of about equal
// FLOP/s, joined by fast links, over which gradients are summed up. GPUs are
// ascending, and parts are in the order of their first GPUs. Parts without GPUs
// are left out.
std::vector<std::vector<int>> DivideGpus(const HexiscaleInput& input,
                                         int num_pipelines, int seed);

// Returns how many of `num_layers` layers each stage holds, about in proportion
// to `memory`, the bytes of all its GPUs. Stages take a layer each in turn. One
// is full if one more layer exceeded its share, and then waits until all are.
// Layers left over go to the stages of the most memory, of equals to the last.
std::vector<int> ShareLayers(int num_layers, absl::Span<const double> memory);

// Likewise returns at most `num_groups` groups of the GPUs of a pipeline,
// joined by slow links, over which stages hand on their microbatches.
std::vector<std::vector<int>> DivideIntoGroups(const HexiscaleInput& input,
                                               absl::Span<const int> gpus,
                                               int num_groups, int seed);

// The stages of the GPUs of a machine are taken from a short list.
enum class StageChoice {
  kAlone,       // Those that run the whole model fastest alone.
  kInPipeline,  // Those with which the pipeline is the fastest.
};

// Returns the pipeline over `groups`, without microbatches: orders the groups,
// cuts the GPUs that a group has in a machine into stages, and shares the
// layers. Times are those of `num_microbatches` of `samples`.
HexiscalePipeline LayOutPipeline(const HexiscaleInput& input,
                                 absl::Span<const std::vector<int>> groups,
                                 StageChoice choice, int samples,
                                 int num_microbatches);

// Moves layers from stages that exceed their memory to those with the most room
// while that helps. Returns the bytes that the fullest GPU lacks; 0: all fits.
double MakeFit(const HexiscaleInput& input, int samples,
               HexiscalePipeline& pipeline);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_LAYOUT_H_
