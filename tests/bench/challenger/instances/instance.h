#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_INSTANCE_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_INSTANCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/anneal/draw.h"

namespace tangram::bench {

using anneal::Draw;

// Nodes of one kind.
struct DrawnGroup {
  std::string name;
  int num_nodes = 1;
  int gpus_per_node = 1;
  double fp16_tflops = 0;
  double memory_gb = 0;
  double memory_gb_per_s = 0;
  double intra_gb_per_s = 0;
  double inter_gb_per_s = 0;
  bool operator==(const DrawnGroup&) const = default;
};

// A small planning problem, in the figures of its files.
struct Instance {
  std::vector<DrawnGroup> groups;
  double between_gb_per_s = 0;  // Between every two groups.
  int num_layers = 0;
  int hidden_size = 0;
  int vocab_size = 0;
  int num_experts = 0;  // 0: dense.
  int batch = 0;
  int sequence = 0;
  // Names separated by commas. Empty: those that suit, as in planning.
  std::string parallelizers;
  // Constraints. 0: none.
  int microbatch = 0;
  int tp = 0;
  int dp = 0;
  int max_stages = 0;
  bool operator==(const Instance&) const = default;
};

// Draws two or three groups of at most eight GPUs each, in odd numbers too, and
// a model of four to eight layers. Links may be slow and memory small. The
// parallelizers are one entry of the list.
Instance DrawInstance(Draw& draw,
                      const std::vector<std::string>& parallelizers);

// Draws nodes of one kind, named by `index`.
DrawnGroup DrawGroup(Draw& draw, int index);

// The files of the instance, and the other arguments of `tangram plan`.
std::string ClusterText(const Instance& instance);
std::string ModelText(const Instance& instance);
std::string ArgumentsOf(const Instance& instance);

// Returns the request that `tangram plan` makes of files and arguments.
absl::StatusOr<PlanRequest> RequestOf(const Instance& instance);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_INSTANCE_H_
