#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SPACE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SPACE_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/island.h"
#include "worker/adapters/aceso/aceso_layout.h"

namespace tangram::aceso {

// Parallelism of a stage.
struct Degrees {
  int tp_degree = 1;
  int dp_degree = 1;

  int num_gpus() const { return tp_degree * dp_degree; }
  bool operator==(const Degrees&) const = default;
};

// Steps between neighbouring choices of degrees: one degree grows or shrinks
// and the other stays, or they are exchanged on the same GPUs.
enum class DegreeStep {
  kMoreTp,   // Higher tp, same dp.
  kMoreDp,   // Higher dp, same tp.
  kLessTp,   // Lower tp, same dp.
  kLessDp,   // Lower dp, same tp.
  kTpForDp,  // Higher tp, lower dp, same GPUs.
  kDpForTp,  // Higher dp, lower tp, same GPUs.
};
inline constexpr int kNumDegreeSteps = 6;  // Enumerators of DegreeStep.

// No such choice of degrees.
inline constexpr int kNoDegrees = -1;

// The choices of degrees for the stages of one query. A stage takes a
// power-of-two number of GPUs inside one node, or whole nodes. tp stays inside
// a node and divides the attention heads; dp divides the pipeline microbatch.
// All choices respect the island's limits.
//
// Deviates from the paper's implementation, where no stage spans nodes. Here dp
// may, because few stages could not use an island of many nodes otherwise.
class DegreeSpace {
 public:
  DegreeSpace(const SliceLayout& layout, const IslandSpec& island,
              int pipeline_microbatch_size);

  // Sorted by number of GPUs, then by tp degree. Empty only if the limits admit
  // none.
  absl::Span<const Degrees> choices() const { return choices_; }
  const Degrees& at(int degrees) const { return choices_[degrees]; }
  int num_gpus(int degrees) const { return choices_[degrees].num_gpus(); }

  // Returns the index of the neighbour, or kNoDegrees.
  int Step(int degrees, DegreeStep step) const {
    return steps_[degrees][static_cast<int>(step)];
  }

  // Returns the numbers of GPUs that a stage may have, ascending.
  absl::Span<const int> stage_sizes() const { return stage_sizes_; }

  // Returns whether a stage of `size` GPUs may begin at GPU `first_gpu` of the
  // island. It must stay inside a node or take whole nodes.
  bool CanPlace(int first_gpu, int size) const {
    const int in_node = first_gpu % gpus_per_node_;
    return first_gpu + size <= island_gpus_ &&
           (size < gpus_per_node_ ? in_node + size <= gpus_per_node_
                                  : in_node == 0);
  }

  // Returns whether consecutive stages of these sizes can be placed.
  bool IsPlaceable(absl::Span<const int> sizes) const;

 private:
  int FindStep(const Degrees& from, DegreeStep step) const;

  int island_gpus_ = 0;
  int gpus_per_node_ = 0;
  std::vector<Degrees> choices_;
  std::vector<std::array<int, kNumDegreeSteps>> steps_;
  std::vector<int> stage_sizes_;
};

// Returns sizes for `num_stages` stages of about equal size that use as many
// GPUs of the island as possible. Stages begin with the smallest size and take
// the next size in turn while GPUs are left. Empty if the island has too few
// GPUs.
std::vector<int> BalancedStageSizes(const DegreeSpace& space,
                                    const IslandSpec& island, int num_stages);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SPACE_H_
