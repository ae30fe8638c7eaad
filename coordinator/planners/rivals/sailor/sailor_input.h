#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_INPUT_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_INPUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

// The input and the plans of the search of Sailor: Strati et al., "Sailor:
// Automating Distributed Training over Dynamic, Heterogeneous, and
// Geo-distributed Clusters", SOSP 2025. Pure.
namespace tangram::sailor {

struct GpuType {
  std::string name;
  double memory_bytes = 0;
  double dollars_per_hour = 0;  // One GPU.
};

// GPUs at one place. A stage has its replicas in the zones of one region.
struct Zone {
  std::string name;
  std::string region;
  std::vector<int> gpus;  // By type.
};

// One layer of the model on one GPU of a tp group.
struct LayerFigures {
  double pass_s = 0;    // Forward and backward of one microbatch.
  double update_s = 0;  // Optimizer step, once an iteration.
  double state_bytes = 0;
  double activation_bytes = 0;  // One microbatch.
  double transient_bytes = 0;   // During one pass.
};

struct ProfileKey {
  int type = 0;
  int tp = 1;
  int samples = 1;  // In a microbatch of one replica.
  auto operator<=>(const ProfileKey&) const = default;
};

struct Profile {
  std::vector<LayerFigures> layers;
  double reserved_bytes = 0;  // Taken before the first layer.
};

// GPUs of one type in one node that send or receive at the same time.
struct Endpoint {
  int zone = 0;
  int type = 0;
  int gpus = 1;
  auto operator<=>(const Endpoint&) const = default;
};

// The rate at which x bytes go: a·l² + b·l + c GB/s, l = log2(x / 1 MB), for
// all GPUs of the endpoint together.
struct Path {
  double a = 0;
  double b = 0;
  double c = 0;
  double most_bytes_per_s = 0;  // The highest rate measured.
  double latency_s = 0;
};

enum class Objective { kFastest, kCheapest };

// Where the released planner and the mended one differ. The defaults mend; see
// UpstreamRules.
struct Rules {
  // Refuses an order of regions in which no GPU type alone has GPUs for one
  // replica of the whole pipeline.
  bool tests_regions = false;
  // Takes the figures of a partial pipeline from a pipeline of another total
  // length, or in another zone of a region, if layers and GPU counts agree.
  bool shares_states_by_counts = false;
  // Gives the first of several GPU types its least tp degree, and the others
  // the one up to which more GPUs pay. Mended: tries both for all types.
  bool first_type_has_least_tp = false;
  // Takes the tp degree up to which more GPUs pay without a second look at
  // memory, which is less for it apart from the reserved bytes.
  bool trusts_tp_memory = false;
  // Lets the rate of a path fall to zero and below outside the sizes measured.
  bool unbounded_paths = false;
  // Skips a mix of GPU types that is as fast as the last one looked at.
  bool skips_equal_mixes = false;
  // Looks at every count of the types before the last two of a mix, and mixes
  // types of which more is left. Mended: mixes types only to use one up.
  bool tries_all_counts = false;
  // Looks at plans that must take half as long again as the best.
  bool tries_slow_plans = false;
  // Lets every stage send the output of the last layer of the first one.
  bool sends_first_boundary = false;
  // Forgets the optimizer step of pipelines of several stages, and takes the
  // slowest layer for all layers of one.
  bool forgets_update = false;
  // Prices the reduction between two zones like one inside the first.
  bool reduces_in_first_zone = false;
  // Finds no plan of several stages for Objective::kCheapest.
  bool cheapest_has_one_stage = false;
};

// The rules of the released planner (artifact of the paper). Its later form
// does not test regions.
Rules UpstreamRules();

struct Input {
  std::vector<GpuType> types;  // In alphabetical order for UpstreamRules.
  std::vector<Zone> zones;
  // Entries may lack. All have the same number of layers.
  std::map<ProfileKey, Profile> profiles;
  std::vector<double> gradient_bytes;  // By layer, for all of a tp group.
  std::vector<double> boundary_bytes;  // Leave each layer forwards, a sample.
  // A tp degree is tried only if there is a path from it to itself.
  std::map<std::pair<Endpoint, Endpoint>, Path> paths;
  // By sending and receiving zone; empty: free.
  std::vector<std::vector<double>> dollars_per_gb;
  double reduction_dollars_per_gb = 0;  // Between zones.
  int global_batch = 0;                 // Samples.
};

struct Settings {
  Objective objective = Objective::kFastest;
  double most_dollars = 0;          // An iteration. 0: any.
  double longest_s = 0;             // Likewise.
  int most_replicas = 0;            // In a stage. 0: as many as GPUs.
  int most_stages = 0;              // 0: as many as layers or GPUs.
  bool whole_microbatches = false;  // Only dp degrees that divide the batch.
  // Mixes looked at, in equal parts for sizes of microbatches and dp degrees.
  // 0: any number.
  int64_t most_steps = 0;
  Rules rules;
};

// Returns OK, or kInvalidArgument naming the field, its value and what was
// expected.
absl::Status CheckInput(const Input& input);
absl::Status CheckSettings(const Settings& settings);

// Replicas of one stage that are alike.
struct ReplicaRun {
  int zone = 0;
  int type = 0;
  int tp = 1;
  int count = 0;
  bool operator==(const ReplicaRun&) const = default;
};

struct Stage {
  int first_layer = 0;
  int num_layers = 0;
  // Replica i of a stage sends to replica i of the next one.
  std::vector<ReplicaRun> replicas;
  bool operator==(const Stage&) const = default;
};

struct Plan {
  int samples = 0;  // In a microbatch of one replica.
  int dp = 0;       // The same for all stages.
  double iteration_s = 0;
  double dollars = 0;  // An iteration.
  std::vector<Stage> stages;
  bool operator==(const Plan&) const = default;
};

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_SAILOR_INPUT_H_
