#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SPACE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SPACE_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/island.h"
#include "worker/adapters/aceso/aceso_layout.h"

namespace tangram::aceso {

// How a stage is spread over its GPUs.
struct Degrees {
  int tp_degree = 1;
  int dp_degree = 1;

  int num_gpus() const { return tp_degree * dp_degree; }
  bool operator==(const Degrees&) const = default;
};

// The neighbours of a choice of degrees: one degree up or down with the other
// kept, or one traded for the other on the same GPUs.
enum class DegreeStep {
  kMoreTp,
  kMoreDp,
  kLessTp,
  kLessDp,
  kTpForDp,  // More tp, less dp.
  kDpForTp,
};
inline constexpr int kNumDegreeSteps = 6;

inline constexpr int kNoDegrees = -1;

// The degrees that a stage of one query may have. A stage takes a power of two
// of GPUs inside one node, or whole nodes. tp stays inside a node and divides
// the attention heads; dp divides the pipeline microbatch. All are within the
// limits of the island.
//
// Deviates from the paper's implementation, where no stage spans nodes: here dp
// may, or an island of many nodes could not be used with few stages.
class DegreeSpace {
 public:
  DegreeSpace(const SliceLayout& layout, const IslandSpec& island,
              int pipeline_microbatch_size);

  // By number of GPUs, then by tp degree. Empty only where limits leave none.
  absl::Span<const Degrees> choices() const { return choices_; }
  const Degrees& at(int degrees) const { return choices_[degrees]; }
  int num_gpus(int degrees) const { return choices_[degrees].num_gpus(); }

  // Index of the neighbour, or kNoDegrees.
  int Step(int degrees, DegreeStep step) const {
    return steps_[degrees][static_cast<int>(step)];
  }

  // Numbers of GPUs that a stage may have, ascending.
  absl::Span<const int> stage_sizes() const { return stage_sizes_; }

  // Whether a stage of `size` GPUs may begin at `first_gpu` of the island: it
  // stays inside a node, or has whole ones.
  bool CanPlace(int first_gpu, int size) const {
    const int in_node = first_gpu % gpus_per_node_;
    return first_gpu + size <= island_gpus_ &&
           (size < gpus_per_node_ ? in_node + size <= gpus_per_node_
                                  : in_node == 0);
  }

  // Whether stages of these sizes, one after another, can be placed.
  bool IsPlaceable(absl::Span<const int> sizes) const;

 private:
  int FindStep(const Degrees& from, DegreeStep step) const;

  int island_gpus_ = 0;
  int gpus_per_node_ = 0;
  std::vector<Degrees> choices_;
  std::vector<std::array<int, kNumDegreeSteps>> steps_;
  std::vector<int> stage_sizes_;
};

// Sizes for `num_stages` stages that use as many GPUs of the island as sizes
// about equal allow: from one GPU each, stages in turn take the next size while
// GPUs are left. Empty if the island has too few GPUs for any sizes.
std::vector<int> BalancedStageSizes(const DegreeSpace& space,
                                    const IslandSpec& island, int num_stages);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_SPACE_H_
