#ifndef TANGRAM_COMMON_SIM_UNLIKE_RING_H_
#define TANGRAM_COMMON_SIM_UNLIKE_RING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_part.h"
#include "common/sim/stage_placement.h"

// Rings that add up gradients between GPUs that hold the same layers in unlike
// shards.
namespace tangram {

// GPUs that hold all of a segment of the model, as one member of a ring.
struct RingMember {
  PathEnd gpus;
  // Shards of the segment (tp degree). If the groups of a mixed stage differ:
  // the least, and the least common multiple.
  int64_t fewest_shards = 1;
  int64_t pieces = 1;
};

RingMember MemberOf(const Cluster& cluster, const PlacedStage& stage);
RingMember MemberOf(const Cluster& cluster, const StagePart& part);

// The traffic of one exchange.
struct RingTraffic {
  double parameters = 0;  // All of the segment.
  double parameter_bytes = 0;
  // Fraction of the segment's bytes over each hop, and messages in sequence.
  // All-reduce over R members: 2 (R − 1) / R and 2 (R − 1).
  double rate_share = 0;
  int steps = 0;
};

RingTraffic AllReduceTraffic(double parameters, double parameter_bytes,
                             int num_members);

// Returns the seconds of an exchange, those of the slowest hop:
//   max_r (rate_share · bytes / rate_r + steps · q / min t_r · latency_r),
// with t_r the shards of member r and q = lcm(t_r), the number of pieces, each
// with its own ring. The rings run at once, but a GPU of member r is in q / t_r
// of them and pays the latency of each. There are no more pieces than
// parameters.
double RingSeconds(const Cluster& cluster,
                   absl::Span<const RingMember* const> members,
                   const RingTraffic& traffic);

// Returns the parameters of the operators in [begin, end), those that embedding
// and head share once.
double ParametersOf(const ModelSpec& model, OperatorCut begin, OperatorCut end);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_UNLIKE_RING_H_
