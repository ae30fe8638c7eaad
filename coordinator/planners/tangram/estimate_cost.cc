#include "coordinator/planners/tangram/estimate_cost.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/planner/planner.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/composition/joint_bounds.h"
#include "coordinator/islands/agglomerate.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/tangram/atom_groups.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {
namespace {

// The request, which its copies and the answer share, and the message of the
// answer.
constexpr int64_t kCopiesOfRequest = 2;
// Stages of a plan: each begins at an operator, and a layer has at most 16.
constexpr int64_t kMaxStagesOfLayer = 16;
constexpr int64_t kBytesPerStage = sizeof(PlacedStage) + 64;
// Rounds the sum up for allocators and what is small: names, stacks, maps.
constexpr int64_t kSmallBytes = int64_t{1} << 20;
// A place is a slice position on an island in one composition: its pair, and
// its indices by end and by island, in vectors that double.
constexpr int64_t kBytesPerPlace = sizeof(PlacedPair) + 2 * 2 * sizeof(int);
// A partial pipeline: 20 bytes of slices, and 40 in a set that doubles. The
// search by simulated time, which follows, takes less than all of them
// (order_finalists.h and played_order.h).
constexpr int64_t kBytesPerTail = 20 + 2 * 40;
// Compositions that a microbatch size may keep: their slices, and the pairs of
// those.
constexpr int64_t kBytesPerComposedSlice =
    sizeof(ComposedSlice) + sizeof(PlacedPair) + sizeof(ChosenSlice);
// Bounds of an atom on an island: work and bytes, and while they are asked for,
// a question and an answer.
constexpr int64_t kBytesPerBound =
    2 * sizeof(double) + sizeof(ProfileQuery) + 2 * sizeof(PerformanceProfile);
// A node on its way into an island: its index and rank, in lists that double.
constexpr int64_t kBytesPerNodeIndex = 16 * sizeof(int);

absl::Status CheckAtMost(const char* field, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, "; expected 1 to ", most));
}

absl::Status CheckRequest(const PlanRequest& request) {
  TANGRAM_RETURN_IF_ERROR(
      CheckAtMost("model.layers", request.model.num_layers(), kMaxLayers));
  TANGRAM_RETURN_IF_ERROR(CheckAtMost(
      "cluster.nodes", static_cast<int64_t>(request.cluster->nodes.size()),
      kMaxNodes));
  TANGRAM_RETURN_IF_ERROR(CheckAtMost(
      "cluster.groups", static_cast<int64_t>(request.cluster->groups.size()),
      kMaxGroups));
  return CheckAtMost("training.sequence_length",
                     request.training.sequence_length, kMaxPositions);
}

// Returns the heap bytes of a text. Short ones are inside the string.
int64_t BytesOf(const std::string& text) {
  return text.capacity() < sizeof(std::string)
             ? 0
             : static_cast<int64_t>(text.capacity()) + 1;
}

// Returns the bytes of the measurements, which the nodes of a group share.
int64_t BytesOfMeasurements(const DeviceSpec& device) {
  int64_t bytes = static_cast<int64_t>(
      device.measured.size() * sizeof(MeasuredOperator) +
      device.measured_layers.size() * sizeof(MeasuredLayer) +
      device.collectives.size() * sizeof(MeasuredCollective));
  for (const MeasuredCollective& table : device.collectives) {
    bytes +=
        static_cast<int64_t>(table.points.size() * sizeof(CollectivePoint));
  }
  return bytes;
}

// Returns the bytes that building islands takes beside the nodes. With b =
// min(nodes, kMaxBlocks), two tables of links between blocks, one after the
// other, take 8·b² each.
int64_t BytesOfIslands(int64_t num_nodes) {
  const int64_t blocks = std::min<int64_t>(num_nodes, kMaxBlocks);
  return blocks * blocks * static_cast<int64_t>(sizeof(double)) +
         num_nodes * kBytesPerNodeIndex;
}

// Returns the larger of two sizes, field by field.
SearchSize Larger(const SearchSize& a, const SearchSize& b) {
  return {.num_atoms = std::max(a.num_atoms, b.num_atoms),
          .num_slices = std::max(a.num_slices, b.num_slices),
          .num_pairs = std::max(a.num_pairs, b.num_pairs),
          .num_runs = std::max(a.num_runs, b.num_runs)};
}

// Returns upper bounds on the size of a search, for any number of different
// islands up to `max_islands`. Fewer islands may leave room for finer groups of
// atoms, and so for more slices. The finest groups need no such comparison.
SearchSize LargestSize(const ModelSpec& model, bool merge_equal,
                       int max_islands, int num_sizes) {
  const std::vector<AtomOutline> atoms = OutlinesOf(model);
  SearchSize largest;
  for (int islands = max_islands; islands > 0; --islands) {
    const AtomGroups grouped =
        GroupAtoms(atoms, merge_equal, int64_t{islands} * num_sizes);
    largest = Larger(largest, grouped.size);
    if (grouped.is_finest) break;
  }
  return largest;
}

// Returns the bytes of plans that are kept while others are judged: one for
// each set of islands among the first finalists, and the one that is judged.
int64_t BytesOfPlans(const PlanRequest& request, const PlanCost& cost) {
  const int64_t sets =
      std::min<int64_t>(int64_t{1} << cost.num_islands, kMaxCompositions);
  const int64_t gpus = request.cluster->num_gpus();
  const int64_t stages = std::min(gpus, cost.num_layers * kMaxStagesOfLayer);
  return (sets + 1) *
         (gpus * static_cast<int64_t>(sizeof(GpuId)) + stages * kBytesPerStage);
}

}  // namespace

int64_t BytesOfRequest(const PlanRequest& request) {
  const auto num_groups = static_cast<int64_t>(request.cluster->groups.size());
  int64_t bytes = num_groups * num_groups * sizeof(Link) +
                  request.model.num_layers() * sizeof(LayerSpec);
  for (const std::string& group : request.cluster->groups) {
    bytes += sizeof(group) + BytesOf(group);
  }
  std::vector<bool> counted(request.cluster->groups.size());
  for (const Node& node : request.cluster->nodes) {
    const DeviceSpec& device = node.device;
    bytes += static_cast<int64_t>(sizeof(Node)) + BytesOf(node.name) +
             BytesOf(device.type);
    if (!counted[node.group]) bytes += BytesOfMeasurements(device);
    counted[node.group] = true;
  }
  return bytes;
}

// With n atoms, I islands, M microbatch sizes, s slices, p pairs and r runs,
// there are q = I·n(n + 1)/2 places and
//
//   bytes = 2·request + islands
//         + (n + 1)²·4 + n(n + 1)/2·8·2 + 96·s + 2·120·r    slices, and a join
//         + M·I·(n + 1)·60                                   bounds
//         + 44·p + min(32 KiB·p, kMaxAnswerBytes + a batch)  pairs and answers
//         + 40·q + 100·max_tails + JointBounds::kMostBytes   composition
//         + compositions and plans that are kept.
absl::StatusOr<PlanCost> EstimateCost(const PlanRequest& request,
                                      const TangramOptions& options) {
  TANGRAM_RETURN_IF_ERROR(CheckRequest(request));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> sizes,
                           MicrobatchSizes(request));
  const auto num_nodes = static_cast<int64_t>(request.cluster->nodes.size());
  PlanCost cost{.num_layers = request.model.num_layers(),
                .num_islands =
                    static_cast<int>(std::min<int64_t>(num_nodes, kMaxIslands)),
                .num_microbatch_sizes = static_cast<int>(sizes.size()),
                // The judge begins a last round while it may judge one more.
                .num_evaluations = kMaxJudged - 1 + kMaxFinalists};
  const SearchSize size =
      LargestSize(request.model, options.pruning.redundancy, cost.num_islands,
                  cost.num_microbatch_sizes);
  cost.num_atoms = size.num_atoms;
  cost.num_slices = size.num_slices;
  cost.num_pairs = size.num_pairs;
  const int64_t atoms = size.num_atoms;
  const int64_t positions = atoms * (atoms + 1) / 2;
  const int64_t places = positions * cost.num_islands;
  const auto run_bytes = static_cast<int64_t>(sizeof(LayerRun));
  cost.bytes =
      kSmallBytes + kCopiesOfRequest * BytesOfRequest(request) +
      BytesOfIslands(num_nodes) +
      (atoms + 1) * (atoms + 1) * static_cast<int64_t>(sizeof(int)) +
      positions * 2 * static_cast<int64_t>(sizeof(AtomRange)) +
      size.num_slices * 2 * static_cast<int64_t>(sizeof(ModelSlice)) +
      2 * (size.num_runs + cost.num_layers) * run_bytes +
      cost.num_microbatch_sizes * cost.num_islands * (atoms + 1) *
          kBytesPerBound +
      size.num_pairs * kBytesPerPair +
      std::min(size.num_pairs * kBytesPerAnswer,
               kMaxAnswerBytes + kMaxBatchQueries * kBytesPerAnswer) +
      places * kBytesPerPlace +
      int64_t{ComposeProblem().max_tails} * kBytesPerTail +
      JointBounds::kMostBytes +
      int64_t{cost.num_microbatch_sizes} *
          MostCompositions(kMaxFinalists, cost.num_microbatch_sizes) *
          (sizeof(Composition) + std::min<int64_t>(atoms, cost.num_islands) *
                                     kBytesPerComposedSlice) +
      BytesOfPlans(request, cost);
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
