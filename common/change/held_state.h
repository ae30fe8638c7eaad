#ifndef TANGRAM_COMMON_CHANGE_HELD_STATE_H_
#define TANGRAM_COMMON_CHANGE_HELD_STATE_H_

#include <compare>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A GPU that has the same name in the clusters of two plans.
struct NamedGpu {
  std::string node;
  int index = 0;
  auto operator<=>(const NamedGpu&) const = default;
};

// One tensor of the model's state: the dense or the expert parameters of an
// operator, as weights or with what the optimizer keeps for them.
struct StateTensor {
  int layer = 0;
  int op = 0;
  bool experts = false;
  bool optimizer = false;
  auto operator<=>(const StateTensor&) const = default;
};

// The part [begin, end) of a tensor, as fractions of its parameters, that a GPU
// holds.
struct HeldPart {
  StateTensor tensor;
  double begin = 0;
  double end = 0;
  double tensor_bytes = 0;  // The whole tensor's.
  int holder = 0;           // Index into HeldState::gpus.
};

// Weights and optimizer state of a plan on its GPUs. Every iteration
// computes new gradients.
struct HeldState {
  std::vector<NamedGpu> gpus;
  std::vector<HeldPart> parts;  // By tensor, then begin, then holder.
};

// Returns the state that the plan holds. A rank of a tensor-parallel group
// holds its part in rank order, and the ZeRO shard of its replica. A tied head
// holds a copy of the embedding's matrix, unless its stage has the embedding.
// Parameters that tensor parallelism does not split are whole on each rank.
HeldState HeldBy(const ModelSpec& model, const Cluster& cluster,
                 const TrainingOptions& training, const PipelinePlan& plan);

// Joins the state of several pipelines.
HeldState Join(absl::Span<const HeldState> states);

}  // namespace tangram

#endif  // TANGRAM_COMMON_CHANGE_HELD_STATE_H_
