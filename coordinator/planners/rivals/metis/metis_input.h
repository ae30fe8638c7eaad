#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_INPUT_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_INPUT_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "common/base/infinity.h"

// The input of the search of Metis: "Metis: Fast Automatic Distributed Training
// on Heterogeneous GPUs", Um et al., USENIX ATC 2024. Times are in ms, memory
// in MB, and bandwidths in MiB per ms, which is nearly GB/s.
namespace tangram {

struct MetisHost {
  int type = 0;
  int num_gpus = 0;
  double memory_mb = 0;        // One GPU's.
  double intra_bandwidth = 0;  // Between GPUs of the host.
  double inter_bandwidth = 0;  // To other hosts.
};

// A profiled GPU type, tp degree and microbatch size, a power of two.
struct MetisKey {
  int type = 0;
  int tp = 1;
  int samples = 1;
  auto operator<=>(const MetisKey&) const = default;
};

// The measurements for a key. Vectors have one entry a layer.
struct MetisProfile {
  std::vector<double> layer_ms;       // Forward and backward pass.
  std::vector<double> state_mb;       // On each GPU.
  std::vector<double> activation_mb;  // For each microbatch in flight.
  std::vector<double> transient_mb;   // Empty: none.
  std::vector<double> optimizer_ms;   // Empty: see MetisInput::optimizer_ms.
  double sync_ms = 0;                 // Time of a pass beyond its layers.
};

struct MetisInput {
  std::vector<MetisHost> hosts;
  int num_types = 0;
  std::vector<double> reserved_mb;  // By type. Empty: none.
  std::map<MetisKey, MetisProfile> profiles;
  std::vector<double> parameter_bytes;  // By layer.
  // Bytes that leave each layer forwards for one sample. The last layer's are
  // split over tp.
  std::vector<double> output_bytes;
  double optimizer_ms = 0;  // Whole model on one GPU, tp 1.
  double batch_generator_ms = 0;

  int num_layers() const { return static_cast<int>(parameter_bytes.size()); }
};

enum class MetisMissingProfile { kSkipsStrategy, kEndsWalk, kEndsRun };

// The defects of the published planner, each a switch. All off: the corrected
// search.
struct MetisDefects {
  // M1. From the second order of types on, two-stage plans are first costed for
  // stage 0 alone, and one-stage plans are left out.
  bool costs_stage_0_alone = false;
  // M2. Layers that no stage holds most of are lost, and stages may be empty.
  bool loses_layers = false;
  // M3. Bandwidth between hosts is that inside a host.
  bool inter_is_intra = false;
  // M4. Gradients of tp 1 are reduced as if inside a host: the ranks of one
  // list are those of a tp group.
  bool deals_ranks_to_replicas = false;
  // M5. Optimizer times and layer weights are those of the first type.
  bool first_type_counts = false;
  // M6. A plan whose pass takes no longer than its layers is dropped.
  bool drops_zero_sync = false;
  // M7. A profile that is not there ends the published planner.
  MetisMissingProfile missing_profile = MetisMissingProfile::kSkipsStrategy;
  // M8. min_group_scale is cut to an integer.
  bool integer_scale = false;
  // M9. The memory of a mixed stage is that of the whole cluster's types.
  bool whole_cluster_shares = false;
  // M10. Every host has as many GPUs as the first.
  bool equal_hosts = false;
  // M11. There is no plan unless all GPUs can be one stage.
  bool needs_one_stage = false;
  // M12. Memory is five times the profile once a stage, against the memory of
  // all GPUs of the stage.
  bool memory_once_a_stage = false;
  // M13. A stage sends what leaves the layer behind its last one.
  bool sends_next_layer = false;

  static MetisDefects AllOfUpstream();
};

struct MetisSettings {
  int global_batch = 1;
  int batches = 0;  // Plans have so many microbatches. 0: any number.
  int max_tp = 4;
  int max_samples = 4;         // In a microbatch.
  double min_group_scale = 1;  // See DeviceGroupLimits.
  int max_permute_len = 4;
  int max_plans = 1;                  // How many are kept.
  int64_t max_inter_stage_plans = 0;  // The search ends there. 0: no limit.
  MetisDefects defects;
  std::function<bool()> should_stop;  // Empty: never.
};

// One stage on the next num_gpus ranks.
struct MetisStage {
  int num_gpus = 0;
  int dp = 1;
  int tp = 1;
  int begin_layer = 0;
  int end_layer = 0;
  // Samples of each replica, which takes the next tp ranks. Empty: equal.
  std::vector<int> shares;
  bool operator==(const MetisStage&) const = default;
};

struct MetisPlan {
  double cost_ms = 0;
  std::vector<int> types;  // The order of GPU types; ranks follow it.
  int batches = 1;         // Microbatches.
  int costed_stages = 0;   // Less than all with M1.
  std::vector<MetisStage> stages = {};
};

struct MetisRanking {
  std::vector<MetisPlan> plans;  // Cheapest first.
  int64_t inter_stage_plans = 0;
  int64_t costed = 0;
  int64_t invalid = 0;  // Costed, but partly, or without some layer or stage.
  int64_t missing_profiles = 0;
  // Memory that each GPU lacks in the strategy that came closest; infinite if
  // none lacked any.
  double least_shortage_mb = kInfinity;
  bool no_one_stage_group = false;  // Nothing was searched because of M11.
  bool reached_limit = false;       // See max_inter_stage_plans.
  bool stopped = false;
};

// Searches the plans of Metis and ranks them by its cost. The first plan
// found wins ties. Pure.
//
// For each order of types, number of stages, division of the ranks among stages
// and number of microbatches, a walk begins with tp 1 and goes to more tp in
// the stage of least free memory. Each step splits the layers by speed.
MetisRanking RankMetisPlans(const MetisInput& input,
                            const MetisSettings& settings);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_METIS_INPUT_H_
