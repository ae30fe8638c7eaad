#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_TABLES_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_TABLES_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/aceso/aceso_layout.h"
#include "worker/adapters/aceso/aceso_space.h"

namespace tangram::aceso {

// Sums of one quantity over ranges of a slice's operators in constant time: of
// whole layers, and of a layer's operators before each one. O(layers) to build.
class RangeSums {
 public:
  // `values` by slot.
  RangeSums(const SliceLayout& layout, absl::Span<const double> values);

  double Over(const LayoutOperator& begin, const LayoutOperator& end) const {
    return Before(end) - Before(begin);
  }
  // The last end in [begin, limit] with a sum of at most `bound`, given that no
  // value is negative.
  int LastEndWithin(const SliceLayout& layout, int begin, int limit,
                    double bound) const;

 private:
  double Before(const LayoutOperator& op) const {
    return layers_[op.layer] + within_[op.slot];
  }

  std::vector<double> layers_;
  std::vector<double> within_;
};

// Every layer on the same level of its kind's recompute hull.
struct RecomputeLevel {
  std::vector<OpMask> masks;  // By kind.
  RangeSums recompute_s;
  RangeSums recompute_host_s;
  RangeSums kept_bytes;  // Activations kept for the backward pass.
  // Bytes that a layer needs on top of the activations in flight, by slot:
  // its operators before that one, and from it on.
  std::vector<double> transient_until;
  std::vector<double> transient_from;
  // Input that a stage keeps on top when it begins at this operator, which is
  // inside a recomputed segment. By slot.
  std::vector<double> cut_input_bytes;
};

// What `operators` of one layer need on top of the activations in flight: their
// largest recomputed segment and their workspace. Bit 0 of `mask` is the first.
double TransientBytes(absl::Span<const OperatorCost> operators, OpMask mask);

// All costs of a slice's operators under one choice of degrees.
struct DegreeTable {
  StageParallelism parallelism;
  StageWiring wiring;
  std::vector<OperatorCost> costs;  // By slot.
  double state_bytes_per_parameter = 0;
  RangeSums time_s;  // Forward and backward, without recomputation.
  RangeSums backward_s;
  RangeSums forward_host_s;  // What the host needs to issue the kernels.
  RangeSums backward_host_s;
  RangeSums parameters;
  std::vector<RecomputeLevel>
      levels;  // From no recomputation to the fewest bytes.
};

// Which stage's time a transfer between two stages counts to: its sender's,
// both ways, as in Tangram's simulator; or each way at one end, as in Aceso's
// own formula, there over the links inside a node.
enum class TransferPayer { kSender, kBothEnds };

// What the search asks of the cost model for one query, computed once for each
// choice of degrees when it is first needed.
class CostTables {
 public:
  // Refers to its arguments.
  CostTables(const SliceLayout& layout, const DegreeSpace& space,
             const IslandSpec& island, const ParallelizeOptions& options,
             TransferPayer payer = TransferPayer::kSender);

  const SliceLayout& layout() const { return layout_; }
  const DegreeSpace& space() const { return space_; }
  const IslandSpec& island() const { return island_; }
  const ParallelizeOptions& options() const { return options_; }
  int num_microbatches() const {
    return options_.training.global_batch_size /
           options_.pipeline_microbatch_size;
  }
  // What one GPU has to offer. A hair less than it holds, so that what fits by
  // the tables fits by the cost model's own sums.
  double capacity_bytes() const { return capacity_bytes_; }

  const DegreeTable& At(int degrees) {
    std::unique_ptr<DegreeTable>& table = tables_[degrees];
    if (table == nullptr) table = MakeTable(space_.at(degrees));
    return *table;
  }
  StageEnvironment EnvironmentOf(const DegreeTable& table) const {
    return {.device = island_.device,
            .training = options_.training,
            .wiring = table.wiring,
            .pipeline_microbatch_size = options_.pipeline_microbatch_size};
  }

  // Ways of a transfer that its sender pays for.
  int ways_paid_by_sender() const {
    return payer_ == TransferPayer::kSender ? 2 : 1;
  }
  // What a stage that begins at `position` pays for its input.
  double ReceiveSeconds(int position) const {
    if (payer_ == TransferPayer::kSender || position == 0) return 0;
    return TransferSeconds(BoundaryBytesAt(position), within_node_);
  }

  // One way, over all replicas, at a position inside the slice.
  double BoundaryBytesAt(int position) const {
    return boundary_bytes_[layout_.at(position).slot];
  }

 private:
  std::unique_ptr<DegreeTable> MakeTable(const Degrees& degrees) const;

  const SliceLayout& layout_;
  const DegreeSpace& space_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  TransferPayer payer_;
  TransferPath within_node_;
  double capacity_bytes_;
  std::vector<std::unique_ptr<DegreeTable>> tables_;  // Null until asked for.
  std::vector<double> boundary_bytes_;                // By slot.
};

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_TABLES_H_
