#ifndef TANGRAM_COMMON_DOMAIN_MEASUREMENTS_H_
#define TANGRAM_COMMON_DOMAIN_MEASUREMENTS_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/fingerprint.h"

namespace tangram {

// Measurement of one whole layer on one GPU at one batch size. Overrides the
// cost model where it matches. Several with one key are the same layer at
// different batch sizes.
struct MeasuredLayer {
  Fingerprint key = 0;  // LayerMeasurementKey of cost/measured_layer.h.
  int samples = 0;      // Per replica.
  double forward_s = 0;
  double backward_s = 0;  // Without recomputation.
  // The times include the layer's tp, cp and ep collectives.
  bool collectives_included = false;
  // Bytes that one GPU keeps for the backward pass without recomputation.
  std::optional<double> saved_bytes;
  // Optimizer step and model state for all parameters of one GPU, before ZeRO.
  std::optional<double> optimizer_s;
  std::optional<double> state_bytes;

  bool operator==(const MeasuredLayer&) const = default;
};

enum class CollectiveOp {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kPointToPoint,  // One sender, one receiver.
};

// "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "p2p".
absl::string_view CollectiveName(CollectiveOp op);

struct CollectivePoint {
  double bytes = 0;  // As the functions of cost/collectives.h count them.
  double seconds = 0;
  bool operator==(const CollectivePoint&) const = default;
};

// Measured times of one collective over `ranks` GPUs of one type, spread evenly
// over `nodes` nodes.
struct MeasuredCollective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;
  int nodes = 1;
  std::vector<CollectivePoint> points;  // At least one; bytes rising.
  bool operator==(const MeasuredCollective&) const = default;
};

// Returns the table of that operation and shape, or null. `tables` are sorted
// by operation, ranks, nodes.
const MeasuredCollective* FindCollective(
    absl::Span<const MeasuredCollective> tables, CollectiveOp op, int ranks,
    int nodes);

// Returns the time for `bytes`. Between two points, log seconds are linear in
// log bytes. Below the smallest point the time is constant, beyond the largest
// the rate is.
double SecondsOf(const MeasuredCollective& table, double bytes);

// The sort order of the tables of a DeviceSpec.
bool ComesBefore(const MeasuredLayer& a, const MeasuredLayer& b);
bool ComesBefore(const MeasuredCollective& a, const MeasuredCollective& b);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MEASUREMENTS_H_
