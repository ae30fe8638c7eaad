#include "formats/config/calibrated_constants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/config_field.h"
#include "formats/config/text_file.h"

namespace tangram {
namespace {

constexpr Constant kConstants[] = {
    Constant::kGemmMaxFraction,   Constant::kGemmHalfFlops,
    Constant::kAttentionFraction, Constant::kMemoryFraction,
    Constant::kHostLaunch,        Constant::kIntraNodeBandwidth,
    Constant::kIntraNodeLatency,  Constant::kInterNodeBandwidth,
    Constant::kInterNodeLatency};

// Nothing that a fit finds is farther from the catalogue.
constexpr double kMostFactor = 1000;

double* FieldOf(Constant constant, DeviceEfficiency& efficiency) {
  switch (constant) {
    case Constant::kGemmMaxFraction:
      return &efficiency.gemm_max_fraction;
    case Constant::kGemmHalfFlops:
      return &efficiency.gemm_half_flops;
    case Constant::kAttentionFraction:
      return &efficiency.attention_fraction;
    case Constant::kMemoryFraction:
      return &efficiency.memory_fraction;
    case Constant::kHostLaunch:
      return &efficiency.host_launch_s;
    default:
      return nullptr;
  }
}

// Fractions of what a datasheet promises.
bool IsFraction(Constant constant) {
  return constant == Constant::kGemmMaxFraction ||
         constant == Constant::kAttentionFraction ||
         constant == Constant::kMemoryFraction;
}

void ScaleLink(bool bandwidth, double factor, Link& link) {
  if (bandwidth) {
    link.bandwidth_bytes_per_s *= factor;
    link.pair_bandwidth_bytes_per_s *= factor;
  } else {
    link.latency_s *= factor;
  }
}

void Apply(const CalibratedConstant& calibrated, Cluster& cluster) {
  const Constant constant = calibrated.constant;
  const bool bandwidth = constant == Constant::kIntraNodeBandwidth ||
                         constant == Constant::kInterNodeBandwidth;
  const bool inter = constant == Constant::kInterNodeBandwidth ||
                     constant == Constant::kInterNodeLatency;
  std::set<int> groups;
  for (Node& node : cluster.nodes) {
    if (node.device.type != calibrated.device) continue;
    groups.insert(node.group);
    if (double* field = FieldOf(constant, node.device.efficiency)) {
      *field *= calibrated.factor;
      if (IsFraction(constant)) *field = std::min(*field, 1.0);
    } else if (!inter) {
      ScaleLink(bandwidth, calibrated.factor, node.intra_node);
    }
  }
  if (!inter) return;
  // A link between two types depends on both, so each has half of its
  // logarithm.
  for (const int group : groups) {
    for (size_t other = 0; other < cluster.links.size(); ++other) {
      const double factor = static_cast<int>(other) == group
                                ? calibrated.factor
                                : std::sqrt(calibrated.factor);
      ScaleLink(bandwidth, factor, cluster.links[group][other]);
      if (static_cast<int>(other) != group) {
        ScaleLink(bandwidth, factor, cluster.links[other][group]);
      }
    }
  }
}

std::vector<absl::string_view> EntryKeys() {
  std::vector<absl::string_view> keys = {"gpu"};
  for (const Constant constant : kConstants) {
    keys.emplace_back(ConstantName(constant));
  }
  return keys;
}

absl::Status CheckConstantsVersion(const ConfigField& root) {
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField version,
      root.Require("tangram_constants", "the version of the format, 1"));
  return version.AsInt(kConstantsFileVersion, kConstantsFileVersion).status();
}

absl::Status ReadEntry(const ConfigField& entry, std::set<std::string>& types,
                       Calibration& constants) {
  TANGRAM_RETURN_IF_ERROR(entry.CheckKeys(EntryKeys()));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField gpu,
                           entry.Require("gpu", "a GPU type"));
  TANGRAM_ASSIGN_OR_RETURN(const std::string type, gpu.AsText());
  if (!types.insert(type).second) {
    return gpu.Error("a GPU type that has no entry yet");
  }
  for (const Constant constant : kConstants) {
    const std::optional<ConfigField> field = entry.Find(ConstantName(constant));
    if (!field.has_value()) continue;
    TANGRAM_ASSIGN_OR_RETURN(const double factor,
                             field->AsNumber(1 / kMostFactor, kMostFactor));
    constants.push_back({type, constant, factor});
  }
  return absl::OkStatus();
}

}  // namespace

const char* ConstantName(Constant constant) {
  switch (constant) {
    case Constant::kGemmMaxFraction:
      return "gemm_max_fraction";
    case Constant::kGemmHalfFlops:
      return "gemm_half_flops";
    case Constant::kAttentionFraction:
      return "attention_fraction";
    case Constant::kMemoryFraction:
      return "memory_fraction";
    case Constant::kHostLaunch:
      return "host_launch";
    case Constant::kIntraNodeBandwidth:
      return "intra_node.bandwidth";
    case Constant::kIntraNodeLatency:
      return "intra_node.latency";
    case Constant::kInterNodeBandwidth:
      return "inter_node.bandwidth";
    case Constant::kInterNodeLatency:
      return "inter_node.latency";
  }
  return "";
}

void ApplyCalibration(const Calibration& calibration, Cluster& cluster) {
  for (const CalibratedConstant& constant : calibration) {
    Apply(constant, cluster);
  }
}

std::string FormatConstants(absl::Span<const CalibratedConstant> constants) {
  std::string text = absl::StrCat(
      "# Factors of the constants that a GPU and its links have without them,\n"
      "# fitted to measured runs by tangram validate --calibrate. tangram "
      "plan\n"
      "# --constants takes this file.\ntangram_constants: ",
      kConstantsFileVersion, "\nconstants:\n");
  std::set<std::pair<std::string, Constant>> written;
  std::string last;
  for (const CalibratedConstant& constant : constants) {
    const bool is_new =
        written.emplace(constant.device, constant.constant).second;
    if (!is_new) continue;
    if (constant.device != last) {
      absl::StrAppend(&text, "  - gpu: ", constant.device, "\n");
      last = constant.device;
    }
    absl::StrAppendFormat(&text, "    %s: %.4f\n",
                          ConstantName(constant.constant), constant.factor);
  }
  return text;
}

absl::StatusOr<Calibration> ParseConstants(absl::string_view text,
                                           absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, source_name));
  const ConfigField root(value, std::string(source_name));
  TANGRAM_RETURN_IF_ERROR(root.CheckKeys({"tangram_constants", "constants"}));
  TANGRAM_RETURN_IF_ERROR(CheckConstantsVersion(root));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           root.Require("constants", "a list of GPU types"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> entries,
                           list.Elements());
  Calibration constants;
  std::set<std::string> types;
  for (const ConfigField& entry : entries) {
    TANGRAM_RETURN_IF_ERROR(ReadEntry(entry, types, constants));
  }
  return constants;
}

absl::Status ApplyConstantsFile(const std::string& path, Cluster& cluster) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  TANGRAM_ASSIGN_OR_RETURN(const Calibration constants,
                           ParseConstants(text, path));
  std::set<std::string> types;
  for (const Node& node : cluster.nodes) types.insert(node.device.type);
  std::map<std::string, std::vector<std::string>> applied;
  for (const CalibratedConstant& constant : constants) {
    if (!types.contains(constant.device)) continue;
    Apply(constant, cluster);
    applied[constant.device].push_back(absl::StrFormat(
        "%s x %.3f", ConstantName(constant.constant), constant.factor));
  }
  if (applied.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": for none of the cluster's GPUs; expected one of ",
                     absl::StrJoin(types, ", ")));
  }
  for (const auto& [type, factors] : applied) {
    cluster.assumptions.push_back({absl::StrCat("constants of ", type),
                                   absl::StrJoin(factors, ", "), path});
  }
  return absl::OkStatus();
}

}  // namespace tangram
