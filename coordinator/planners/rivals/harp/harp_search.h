#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_SEARCH_H_

#include <functional>
#include <vector>

#include "common/base/infinity.h"

// The search of HARP, also HAPT (EuroSys 2026; arXiv 2509.24859, "HAPT"):
// stages over a sequence of homogeneous clusters, and warm-up counts that hide
// the transfers between them (H-1F1B). Pure.
namespace tangram {

// One layer on each GPU of a shape, for one microbatch.
struct HarpLayer {
  double pass_s = 0;  // Forward and backward.
  double state_bytes = 0;
  double activation_bytes = 0;  // Until the backward pass.
  double transient_bytes = 0;   // During one pass.
};

// How a stage may run: dp · tp neighbouring GPUs of one host.
struct HarpShape {
  int dp_degree = 1;
  int tp_degree = 1;
  std::vector<HarpLayer> layers;

  int num_gpus() const { return dp_degree * tp_degree; }
};

// A path between neighbouring stages.
struct HarpPath {
  double bytes_per_s = 0;
  double latency_s = 0;
};

// Equal hosts. Stages neither cross hosts nor clusters.
struct HarpCluster {
  int num_hosts = 0;
  int gpus_per_host = 0;
  double capacity_bytes = 0;  // Each GPU, for the model.
  HarpPath inside;            // Between stages of this cluster.
  HarpPath onwards;           // To the next cluster; unused in the last one.
  std::vector<HarpShape> shapes;

  int num_gpus() const { return num_hosts * gpus_per_host; }
};

struct HarpInput {
  std::vector<HarpCluster> clusters;  // In the order of the pipeline.
  // Bytes of one microbatch that cross the border after layer l, activations
  // and gradients together. As many as layers; the last is not read.
  std::vector<double> border_bytes;
  int num_microbatches = 1;
  // Whether no stage holds more microbatches than there are. Upstream counts
  // on.
  bool clamps_warm_up = false;
  // Bounds that make the iteration longer than this are not tried.
  double limit_s = kInfinity;

  int num_layers() const { return static_cast<int>(border_bytes.size()); }
};

struct HarpStage {
  int begin_layer = 0;
  int end_layer = 0;
  int cluster = 0;
  int shape = 0;    // Index into HarpCluster::shapes.
  int warm_up = 1;  // Microbatches in flight at most; 1 in the last stage.
  double compute_s = 0;
  double transfer_s = 0;  // To the next stage.
};

struct HarpAnswer {
  std::vector<HarpStage> stages;  // In order. Empty: no plan.
  double predicted_s = 0;         // One iteration.
  int num_bounds = 0;             // Distinct stage times.
  int first_feasible = -1;        // Index of the smallest bound with a plan.
  int bounds_tried_after = 0;     // Bounds beyond it that were worth a try.
  int programs = 0;               // Dynamic programs solved.
  bool stopped = false;           // By should_stop.
};

// Returns the plan of the least predicted time that uses every GPU. For each
// bound t on the slowest stage and transfer, a dynamic program builds
// pipelines from the back:
//
//   f(s, l, u, c) = min over e, shape of
//       f(s - 1, e, u - n, c') + stage(l, e) + transfer(e)
//
// for the layers from l on in s stages that use u GPUs of cluster c and all of
// the clusters after it. The stage takes n of these GPUs, and its successor is
// on c, or on the next cluster once u = n. Each is at most t. The iteration
// takes f + (B - 1) times the slowest stage or transfer, with B microbatches.
// `should_stop` is asked before each program; empty: never stops.
HarpAnswer SearchHarp(const HarpInput& input,
                      const std::function<bool()>& should_stop);

// Returns by how many bytes a GPU exceeds its memory with these stages; 0: none
// does.
double BytesShort(const HarpInput& input, const std::vector<HarpStage>& stages);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_SEARCH_H_
