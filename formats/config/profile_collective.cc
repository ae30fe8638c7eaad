#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/figure_limits.h"
#include "common/domain/limits.h"
#include "formats/config/profile_entry.h"

namespace tangram {
namespace {

// One more than the curves of Sailor have.
constexpr int kMaxCoefficients = 4;
// Lower limit of times, because their logarithm is taken: a picosecond, less
// than a cycle of any GPU.
constexpr double kLeastSeconds = 1e-12;

absl::StatusOr<double> RequireBytes(const ConfigField& parent,
                                    absl::string_view key) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           parent.Require(key, "a number of bytes"));
  return field.AsNumber(1, kMaxMemoryBytes);
}

absl::StatusOr<std::vector<CollectivePoint>> ReadPoints(
    const ConfigField& list) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           list.Elements());
  if (fields.empty()) return list.Error("a list of at least one point");
  std::vector<CollectivePoint> points;
  for (const ConfigField& field : fields) {
    TANGRAM_RETURN_IF_ERROR(field.CheckKeys({"bytes", "seconds"}));
    CollectivePoint point;
    TANGRAM_ASSIGN_OR_RETURN(point.bytes, RequireBytes(field, "bytes"));
    TANGRAM_ASSIGN_OR_RETURN(
        const ConfigField seconds,
        field.Require("seconds", "a positive number of seconds"));
    TANGRAM_ASSIGN_OR_RETURN(point.seconds,
                             seconds.AsNumber(kLeastSeconds, kMaxMeasuredS));
    if (!points.empty() && point.bytes <= points.back().bytes) {
      return field.Find("bytes")->Error("more than in the point before");
    }
    points.push_back(point);
  }
  return points;
}

// Bandwidth of a fit in bytes/s: Σ_i coefficients[i] · log2(bytes)^i.
double FittedBandwidth(const std::vector<double>& coefficients, double bytes) {
  double bandwidth = 0;
  for (size_t i = coefficients.size(); i-- > 0;) {
    bandwidth = bandwidth * std::log2(bytes) + coefficients[i];
  }
  return bandwidth;
}

absl::StatusOr<std::vector<double>> ReadCoefficients(const ConfigField& fit) {
  const std::string expected =
      absl::StrCat("a list of 1 to ", kMaxCoefficients, " numbers");
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           fit.Require("coefficients", expected));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           list.Elements());
  if (fields.empty() || fields.size() > kMaxCoefficients) {
    return list.Error(expected);
  }
  std::vector<double> coefficients;
  for (const ConfigField& field : fields) {
    TANGRAM_ASSIGN_OR_RETURN(coefficients.emplace_back(),
                             field.AsNumber(-1e15, 1e15));
  }
  return coefficients;
}

// Samples a fit at both ends and at every power of two between them.
absl::StatusOr<std::vector<CollectivePoint>> ReadFit(const ConfigField& fit) {
  TANGRAM_RETURN_IF_ERROR(
      fit.CheckKeys({"coefficients", "min_bytes", "max_bytes"}));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> coefficients,
                           ReadCoefficients(fit));
  TANGRAM_ASSIGN_OR_RETURN(const double min, RequireBytes(fit, "min_bytes"));
  TANGRAM_ASSIGN_OR_RETURN(const double max, RequireBytes(fit, "max_bytes"));
  if (max <= min) return fit.Find("max_bytes")->Error("more than min_bytes");
  std::vector<double> sizes = {min};
  double size = std::exp2(std::floor(std::log2(min)) + 1);
  for (; size < max; size *= 2) sizes.push_back(size);
  sizes.push_back(max);
  std::vector<CollectivePoint> points;
  for (const double bytes : sizes) {
    const double bandwidth = FittedBandwidth(coefficients, bytes);
    const double seconds = bytes / bandwidth;
    if (!(bandwidth > 0 && seconds >= kLeastSeconds)) {
      return fit.Error(
          absl::StrCat("a positive bandwidth from min_bytes to "
                       "max_bytes; at ",
                       bytes, " bytes it is ", bandwidth));
    }
    points.push_back({bytes, seconds});
  }
  return points;
}

absl::StatusOr<std::vector<CollectivePoint>> ReadTable(
    const ConfigField& field) {
  const std::optional<ConfigField> points = field.Find("points");
  const std::optional<ConfigField> fit = field.Find("bandwidth_fit");
  if (points.has_value() == fit.has_value()) {
    return field.Error("either points or bandwidth_fit");
  }
  return points.has_value() ? ReadPoints(*points) : ReadFit(*fit);
}

absl::StatusOr<CollectiveOp> ReadOp(const ConfigField& field) {
  constexpr absl::string_view kExpected =
      "all_reduce, all_gather, reduce_scatter or all_to_all";
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField op,
                           field.Require("op", kExpected));
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, op.AsText());
  for (const CollectiveOp known :
       {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
        CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll}) {
    if (name == CollectiveName(known)) return known;
  }
  return op.Error(kExpected);
}

absl::StatusOr<int> ReadNodes(const ConfigField& field) {
  return ReadOr(field, "nodes", 1, [](const ConfigField& nodes) {
    return nodes.AsInt(1, kMaxGpus);
  });
}

}  // namespace

absl::StatusOr<MeasuredCollective> ReadProfiledCollective(
    const ConfigField& field) {
  TANGRAM_RETURN_IF_ERROR(
      field.CheckKeys({"op", "ranks", "nodes", "points", "bandwidth_fit"}));
  MeasuredCollective table;
  TANGRAM_ASSIGN_OR_RETURN(table.op, ReadOp(field));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField ranks,
                           field.Require("ranks", "at least 2 ranks"));
  TANGRAM_ASSIGN_OR_RETURN(table.ranks, ranks.AsInt(2, kMaxGpus));
  TANGRAM_ASSIGN_OR_RETURN(table.nodes, ReadNodes(field));
  if (table.ranks % table.nodes != 0) {
    return field.Find("nodes")->Error(
        absl::StrCat("a divisor of ranks (", table.ranks, ")"));
  }
  TANGRAM_ASSIGN_OR_RETURN(table.points, ReadTable(field));
  return table;
}

absl::StatusOr<MeasuredCollective> ReadProfiledTransfer(
    const ConfigField& field) {
  TANGRAM_RETURN_IF_ERROR(
      field.CheckKeys({"nodes", "points", "bandwidth_fit"}));
  MeasuredCollective table = {.op = CollectiveOp::kPointToPoint, .ranks = 2};
  TANGRAM_ASSIGN_OR_RETURN(table.nodes, ReadNodes(field));
  if (table.nodes > 2) return field.Find("nodes")->Error("1 or 2");
  TANGRAM_ASSIGN_OR_RETURN(table.points, ReadTable(field));
  return table;
}

}  // namespace tangram
