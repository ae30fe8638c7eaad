#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/training_names.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"

// Imports measurements of Mist (EuroSys 2025): {ops: [{op, inputs: [{name,
// shape, dtype}], fwd_s: [mean, ...]}]} of single kernels, and {hardware:
// [{gpu, gpu_gpu: [{inter, intra, bw_GBps, latency_s}]}]}. A row of gpu_gpu
// describes an all-gather over n = inter · intra ranks:
//   seconds = bytes / bandwidth · (n−1)/n + latency
// By Mist's own rule, an all-reduce takes 2.1 and a reduce-scatter 1.1 times
// that.
namespace tangram {
namespace {

// Factors over an all-gather in Mist's cost model; see above.
constexpr double kAllReduceFactor = 2.1;
constexpr double kReduceScatterFactor = 1.1;
constexpr double kGigabyte = 1e9;
// A line is sampled at powers of two from 2^16 to 2^30 bytes.
constexpr int kFirstExponent = 16;
// Smaller messages are latency, larger ones bandwidth, which no sample changes.
constexpr int kLastExponent = 30;

absl::StatusOr<std::vector<double>> ShapeOf(const ConfigField& input) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField shape,
                           input.Require("shape", "a list of sizes"));
  return Numbers(shape);
}

std::optional<Precision> PrecisionOf(absl::string_view dtype) {
  if (absl::StrContains(dtype, "bfloat16")) return Precision::kBf16;
  if (absl::StrContains(dtype, "float16")) return Precision::kFp16;
  if (absl::StrContains(dtype, "float32")) return Precision::kFp32;
  return std::nullopt;
}

// Reads x [..., k] times the transpose of weight [n, k].
absl::StatusOr<std::optional<ProfiledGemm>> ReadGemm(const ConfigField& op) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           op.Require("inputs", "a list of tensors"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> inputs,
                           list.Elements());
  if (inputs.size() < 2) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> x, ShapeOf(inputs[0]));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> weight,
                           ShapeOf(inputs[1]));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField dtype,
                           inputs[0].Require("dtype", "such as float16"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string type, dtype.AsText());
  const std::optional<Precision> precision = PrecisionOf(type);
  if (x.empty() || weight.size() != 2 || x.back() != weight[1] ||
      !precision.has_value()) {
    return std::nullopt;
  }
  double rows = 1;
  for (size_t i = 0; i + 1 < x.size(); ++i) rows *= x[i];
  if (rows < 1 || rows > 1e9) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField forward,
                           op.Require("fwd_s", "a list with the mean first"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> seconds, Numbers(forward));
  if (seconds.empty() || seconds[0] <= 0) return std::nullopt;
  return ProfiledGemm{.m = static_cast<int>(rows),
                      .k = static_cast<int>(weight[1]),
                      .n = static_cast<int>(weight[0]),
                      .precision = *precision,
                      .seconds = seconds[0]};
}

absl::Status ReadOps(const ConfigField& list, ImportResult& result) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> ops, list.Elements());
  std::map<std::string, int> left_out;
  for (const ConfigField& op : ops) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                             op.Require("op", "the name of an operator"));
    TANGRAM_ASSIGN_OR_RETURN(const std::string name, field.AsText());
    std::optional<ProfiledGemm> gemm;
    if (absl::StrContains(name, "fused_dense")) {
      TANGRAM_ASSIGN_OR_RETURN(gemm, ReadGemm(op));
    }
    if (gemm.has_value()) {
      result.profile.gemms.push_back(*gemm);
    } else {
      ++left_out[name];
    }
  }
  for (const auto& [name, count] : left_out) {
    result.notes.push_back(absl::StrCat(
        name, " (", count, "): left out; not a matrix product of a layer"));
  }
  return absl::OkStatus();
}

void AddLine(const MeasuredCollective& shape, double factor, double bytes_per_s,
             double latency_s, Profile& profile) {
  const int ranks = shape.ranks;
  for (int exponent = kFirstExponent; exponent <= kLastExponent; ++exponent) {
    const double bytes = std::exp2(exponent);
    const double once_s = bytes / bytes_per_s * (ranks - 1) / ranks + latency_s;
    AddPoint(shape, {.bytes = bytes, .seconds = factor * once_s}, profile);
  }
}

absl::Status ReadLinks(const ConfigField& hardware, Profile& profile) {
  const std::optional<ConfigField> lines = hardware.Find("gpu_gpu");
  if (!lines.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> rows,
                           lines->Elements());
  const auto number = [](const ConfigField& row, absl::string_view key) {
    return ReadOr(row, key, 0.0, [](const ConfigField& field) {
      return field.AsNumber(0, 1e9);
    });
  };
  for (const ConfigField& row : rows) {
    TANGRAM_ASSIGN_OR_RETURN(const double nodes, number(row, "inter"));
    TANGRAM_ASSIGN_OR_RETURN(const double inside, number(row, "intra"));
    TANGRAM_ASSIGN_OR_RETURN(const double gb_per_s, number(row, "bw_GBps"));
    TANGRAM_ASSIGN_OR_RETURN(const double latency_s, number(row, "latency_s"));
    // Upstream's defaults, where nothing was measured, have no latency.
    if (nodes * inside < 2 || gb_per_s <= 0 || latency_s <= 0) continue;
    const int ranks = static_cast<int>(nodes * inside);
    const auto add = [&](CollectiveOp op, double factor) {
      AddLine({.op = op, .ranks = ranks, .nodes = static_cast<int>(nodes)},
              factor, gb_per_s * kGigabyte, latency_s, profile);
    };
    add(CollectiveOp::kAllReduce, kAllReduceFactor);
    add(CollectiveOp::kAllGather, 1);
    add(CollectiveOp::kReduceScatter, kReduceScatterFactor);
  }
  return absl::OkStatus();
}

absl::Status ReadHardware(const ImportedFile& file, const ConfigField& list,
                          const ImportOptions& options, ImportResult& result) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> all, list.Elements());
  for (const ConfigField& hardware : all) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField gpu,
                             hardware.Require("gpu", "a GPU type"));
    TANGRAM_ASSIGN_OR_RETURN(const std::string name, gpu.AsText());
    const bool chosen =
        all.size() == 1 ||
        absl::EqualsIgnoreCase(KnownDevice(name), KnownDevice(options.device));
    if (!chosen) {
      result.notes.push_back(absl::StrCat(name, ": left out; another GPU"));
      continue;
    }
    TANGRAM_RETURN_IF_ERROR(
        SetDevice(name, file.name, options, result.profile));
    TANGRAM_RETURN_IF_ERROR(ReadLinks(hardware, result.profile));
  }
  if (!result.profile.collectives.empty()) {
    result.notes.push_back(
        "collectives: sampled from a fitted line, with upstream's "
        "factors for all-reduce (2.1) and reduce-scatter (1.1)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportResult> ImportMist(Files files,
                                        const ImportOptions& options) {
  ImportResult result;
  for (const ImportedFile& file : files) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                             ParseConfigText(file.text, file.name));
    const ConfigField root(value, file.name);
    TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
    if (const auto hardware = root.Find("hardware")) {
      TANGRAM_RETURN_IF_ERROR(ReadHardware(file, *hardware, options, result));
      continue;
    }
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField ops,
                             root.Require("ops", "a list of operators"));
    TANGRAM_RETURN_IF_ERROR(ReadOps(ops, result));
  }
  TANGRAM_RETURN_IF_ERROR(
      SetDevice("", files[0].name, options, result.profile));
  result.profile.source = absl::StrCat("Mist measurements, ", files[0].name);
  return result;
}

}  // namespace tangram
