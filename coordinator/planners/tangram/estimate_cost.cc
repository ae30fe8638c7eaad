#include "coordinator/planners/tangram/estimate_cost.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/tangram/atom_groups.h"
#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {
namespace {

// Copies: the request, its copy for a runtime and the one in the answer.
constexpr int64_t kCopiesOfRequest = 3;
// Bytes of a pair before it is asked: its id in the list of open pairs, and a
// pointer to its answer.
constexpr int64_t kBytesPerPair = 24;
// Estimate for an answer of a few slice plans with some stages each.
constexpr int64_t kBytesPerAnswer = 4096;
// A place is a slice position on an island in one composition. The tails
// (partial pipelines) per place are those seen with the paper's workloads.
constexpr int64_t kBytesPerPlace = 64;
constexpr int64_t kTailsPerPlace = 64;
constexpr int64_t kBytesPerTail = 104;

absl::Status CheckAtMost(const char* field, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, "; expected 1 to ", most));
}

absl::Status CheckRequest(const PlanRequest& request) {
  TANGRAM_RETURN_IF_ERROR(
      CheckAtMost("model.layers", request.model.num_layers(), kMaxLayers));
  TANGRAM_RETURN_IF_ERROR(CheckAtMost(
      "cluster.nodes", static_cast<int64_t>(request.cluster.nodes.size()),
      kMaxNodes));
  TANGRAM_RETURN_IF_ERROR(CheckAtMost(
      "cluster.groups", static_cast<int64_t>(request.cluster.groups.size()),
      kMaxGroups));
  return CheckAtMost("training.sequence_length",
                     request.training.sequence_length, kMaxPositions);
}

int64_t BytesOf(const PlanRequest& request) {
  const auto num_groups = static_cast<int64_t>(request.cluster.groups.size());
  int64_t bytes = num_groups * num_groups * sizeof(Link) +
                  request.model.num_layers() * sizeof(LayerSpec);
  for (const Node& node : request.cluster.nodes) {
    const DeviceSpec& device = node.device;
    bytes += static_cast<int64_t>(
        sizeof(Node) + device.measured.size() * sizeof(MeasuredOperator) +
        device.measured_layers.size() * sizeof(MeasuredLayer) +
        device.collectives.size() * sizeof(MeasuredCollective));
  }
  return kCopiesOfRequest * bytes;
}

}  // namespace

// With n atoms, I islands, p pairs and r runs, there are q = I·n(n + 1)/2
// places and
//
//   bytes = request + r·sizeof(LayerRun) + 24·p + min(4096·p, kMaxAnswerBytes)
//           + 64·q + 104·min(64·q, max_tails).
absl::StatusOr<PlanCost> EstimateCost(const PlanRequest& request,
                                      const TangramOptions& options) {
  TANGRAM_RETURN_IF_ERROR(CheckRequest(request));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> sizes,
                           MicrobatchSizes(request));
  PlanCost cost{.num_layers = request.model.num_layers(),
                .num_islands = static_cast<int>(std::min<size_t>(
                    request.cluster.nodes.size(), kMaxIslands)),
                .num_microbatch_sizes = static_cast<int>(sizes.size()),
                .num_evaluations = kMaxCompositions};
  const SearchSize size =
      GroupAtoms(OutlinesOf(request.model), options.pruning.redundancy,
                 int64_t{cost.num_islands} * cost.num_microbatch_sizes)
          .size;
  cost.num_atoms = size.num_atoms;
  cost.num_slices = size.num_slices;
  cost.num_pairs = size.num_pairs;
  const int64_t num_places =
      int64_t{size.num_atoms} * (size.num_atoms + 1) / 2 * cost.num_islands;
  cost.bytes = BytesOf(request) +
               size.num_runs * static_cast<int64_t>(sizeof(LayerRun)) +
               size.num_pairs * kBytesPerPair +
               std::min(size.num_pairs * kBytesPerAnswer, kMaxAnswerBytes) +
               num_places * kBytesPerPlace +
               std::min(num_places * kTailsPerPlace,
                        int64_t{ComposeProblem().max_tails}) *
                   kBytesPerTail;
  return cost;
}

absl::Status CheckCost(const PlanCost& cost, const CostLimits& limits) {
  if (limits.max_pairs > 0 && cost.num_pairs > limits.max_pairs) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "--max_plan_pairs: the request has up to ", cost.num_pairs, " pairs (",
        Describe(cost), "); expected at most ", limits.max_pairs));
  }
  if (limits.max_bytes > 0 && cost.bytes > limits.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "--max_plan_mb: the request takes up to ", cost.bytes >> 20, " MiB (",
        Describe(cost), "); expected at most ", limits.max_bytes >> 20));
  }
  return absl::OkStatus();
}

std::string Describe(const PlanCost& cost) {
  return absl::StrFormat(
      "%d layers in %d atoms, %d different slices, at most %d islands, %d "
      "microbatch sizes: at most %d pairs, %d evaluations and %d MiB",
      cost.num_layers, cost.num_atoms, cost.num_slices, cost.num_islands,
      cost.num_microbatch_sizes, cost.num_pairs, cost.num_evaluations,
      cost.bytes >> 20);
}

}  // namespace tangram
