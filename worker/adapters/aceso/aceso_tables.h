#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_TABLES_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_layout.h"
#include "worker/adapters/aceso/aceso_space.h"

namespace tangram::aceso {

// Answers sums of one quantity over ranges of a slice's operators in constant
// time. Keeps prefix sums over layers and, for each kind, over the operators of
// a layer. O(layers) to build.
class RangeSums {
 public:
  // `values` has one entry for each slot.
  RangeSums(const SliceLayout& layout, absl::Span<const double> values);

  // Returns the sum over [begin, end).
  double Over(const LayoutOperator& begin, const LayoutOperator& end) const {
    return Before(end) - Before(begin);
  }
  // Returns the last end in [begin, limit] with a sum of at most `bound`.
  // Values must not be negative.
  int LastEndWithin(const SliceLayout& layout, int begin, int limit,
                    double bound) const;

 private:
  double Before(const LayoutOperator& op) const {
    return layers_[op.layer] + within_[op.slot];
  }

  std::vector<double> layers_;
  std::vector<double> within_;
};

// One level of recomputation: each kind of layer uses the mask of the same
// index in its own recompute hull. Level 0 recomputes nothing, unless limits
// ask for it.
struct RecomputeLevel {
  std::vector<OpMask> masks;  // By kind.
  // Recomputation time on the GPU, and the host's time to issue it.
  RangeSums recompute_s;
  RangeSums recompute_host_s;
  // Activations kept for the backward pass.
  RangeSums kept_bytes;
  // Transient bytes of a layer on top of the activations in flight, by slot: of
  // its operators before that one, and from it on.
  std::vector<double> transient_until;
  std::vector<double> transient_from;
  // By slot: the input that a stage keeps in addition if it begins at this
  // operator inside a recomputed segment.
  std::vector<double> cut_input_bytes;
};

// Returns the bytes that `operators` of one layer need on top of the
// activations in flight: the largest recomputed segment and the largest
// workspace. Bit 0 of `mask` is the first operator.
double TransientBytes(absl::Span<const OperatorCost> operators, OpMask mask);

// Costs of a slice's operators under one choice of degrees. Times are in
// seconds for one microbatch on each GPU.
struct DegreeTable {
  StageParallelism parallelism;
  StageWiring wiring;
  std::vector<OperatorCost> costs;  // By slot.
  double state_bytes_per_parameter = 0;
  RangeSums time_s;  // Forward and backward pass, without recomputation.
  RangeSums backward_s;
  RangeSums forward_host_s;  // The host's time to issue the kernels.
  RangeSums backward_host_s;
  // Number of parameters on each GPU, and of those that a tied head copies.
  RangeSums parameters;
  RangeSums copied_parameters;
  std::vector<RecomputeLevel>
      levels;  // From no recomputation to the fewest bytes, or the demanded.
};

// Selects the stage that pays for a transfer between two stages. With kSender,
// the sender pays both directions, as in Tangram's simulator. With kBothEnds,
// each end pays one direction over the links inside a node, as in Aceso's own
// formula.
enum class TransferPayer { kSender, kBothEnds };

// The cost model's values for one query. The table of a choice of degrees is
// computed when it is first needed.
class CostTables {
 public:
  // Keeps references to its arguments.
  CostTables(const SliceLayout& layout, const DegreeSpace& space,
             const IslandSpec& island, const ParallelizeOptions& options,
             TransferPayer payer = TransferPayer::kSender);

  const SliceLayout& layout() const { return layout_; }
  const DegreeSpace& space() const { return space_; }
  const IslandSpec& island() const { return island_; }
  const ParallelizeOptions& options() const { return options_; }
  // Polls the options' should_stop. Every part of the search counts its work
  // here, and ends soon once it has stopped.
  StopPoll& poll() { return poll_; }
  // The estimates of stages so far, as searches come to most of them again and
  // again; see EstimateFigures.
  absl::flat_hash_map<StageShape, StageFigures>& figures() { return figures_; }
  // B, the microbatches of one iteration.
  int num_microbatches() const {
    return options_.training.global_batch_size /
           options_.pipeline_microbatch_size;
  }
  // Returns the usable bytes of one GPU. Slightly less than its memory: a stage
  // that fits by these tables then also fits by the cost model's own sums.
  double capacity_bytes() const { return capacity_bytes_; }

  const DegreeTable& At(int degrees) {
    std::unique_ptr<DegreeTable>& table = tables_[degrees];
    if (table == nullptr) {
      table = MakeTable(space_.at(degrees));
      poll_.After(kStepsPerKind * layout_.num_kinds());
    }
    return *table;
  }
  StageEnvironment EnvironmentOf(const DegreeTable& table) const {
    return {.device = island_.device,
            .training = options_.training,
            .wiring = table.wiring,
            .pipeline_microbatch_size = options_.pipeline_microbatch_size};
  }

  // Returns the parameters on each GPU of a stage from position `begin` to
  // `end`. A tied head has no copy beside the embedding.
  double ParametersOf(const DegreeTable& table, int begin, int end) const {
    const LayoutOperator& first = layout_.at(begin);
    const LayoutOperator& last = layout_.at(end);
    const bool embeds =
        layout_.kinds()[first.kind].kind == LayerKind::kEmbedding;
    return table.parameters.Over(first, last) -
           (embeds ? table.copied_parameters.Over(first, last) : 0);
  }

  // Returns the number of directions of a transfer that its sender pays for.
  int ways_paid_by_sender() const {
    return payer_ == TransferPayer::kSender ? 2 : 1;
  }
  // Returns the seconds that a stage which begins at `position` pays for its
  // input.
  double ReceiveSeconds(int position) const {
    if (payer_ == TransferPayer::kSender || position == 0) return 0;
    return TransferSeconds(BoundaryBytesAt(position), within_node_);
  }

  // Returns the bytes of one direction over all replicas at a position inside
  // the slice.
  double BoundaryBytesAt(int position) const {
    return boundary_bytes_[layout_.at(position).slot];
  }

 private:
  // A table takes for each kind of layer as long as so many steps of StopPoll.
  static constexpr int64_t kStepsPerKind = 256;

  std::unique_ptr<DegreeTable> MakeTable(const Degrees& degrees) const;

  const SliceLayout& layout_;
  const DegreeSpace& space_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  StopPoll poll_;
  TransferPayer payer_;
  TransferPath within_node_;
  double capacity_bytes_;
  std::vector<std::unique_ptr<DegreeTable>> tables_;  // Null until first used.
  std::vector<double> boundary_bytes_;                // By slot.
  absl::flat_hash_map<StageShape, StageFigures> figures_;
};

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_TABLES_H_
