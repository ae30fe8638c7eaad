#include "formats/import_cluster/inventory_format.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace tangram {
namespace {

// Kubernetes' JSON has "apiVersion" near its start or end. Slurm's holds its
// nodes under "nodes" or "sinfo".
std::optional<InventoryFormat> DetectJson(absl::string_view text) {
  if (absl::StrContains(text, "\"apiVersion\"")) {
    return InventoryFormat::kKubernetes;
  }
  if (absl::StrContains(text, "\"nodes\"") ||
      absl::StrContains(text, "\"sinfo\"")) {
    return InventoryFormat::kSlurmJson;
  }
  return std::nullopt;
}

std::optional<InventoryFormat> DetectLine(absl::string_view line) {
  if (absl::StartsWith(line, "NodeName=")) {
    return InventoryFormat::kScontrolNodes;
  }
  if (absl::StartsWith(line, "SwitchName=") ||
      absl::StartsWith(line, "BlockName=")) {
    return InventoryFormat::kScontrolTopology;
  }
  if (absl::StrContains(line, "algbw") || absl::StrContains(line, "nThread")) {
    return InventoryFormat::kNcclTests;
  }
  if (absl::StrContains(line, "GPU0") && !absl::StrContains(line, "=")) {
    return InventoryFormat::kGpuTopology;
  }
  if (absl::StrContains(line, "NODELIST")) return InventoryFormat::kSinfo;
  return std::nullopt;
}

}  // namespace

std::optional<InventoryFormat> DetectFormat(absl::string_view text) {
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(start, "{")) return DetectJson(text);
  if (absl::StartsWith(start, "<")) return InventoryFormat::kNvidiaSmiXml;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (const auto format = DetectLine(absl::StripAsciiWhitespace(line))) {
      return format;
    }
  }
  return std::nullopt;
}

absl::string_view CommandOf(InventoryFormat format) {
  switch (format) {
    case InventoryFormat::kScontrolNodes:
      return "scontrol show node";
    case InventoryFormat::kScontrolTopology:
      return "scontrol show topology";
    case InventoryFormat::kSinfo:
      return "sinfo";
    case InventoryFormat::kSlurmJson:
      return "sinfo --json";
    case InventoryFormat::kKubernetes:
      return "kubectl get nodes -o json";
    case InventoryFormat::kNvidiaSmiXml:
      return "nvidia-smi -q -x";
    case InventoryFormat::kGpuTopology:
      return "nvidia-smi topo -m";
    case InventoryFormat::kNcclTests:
      return "nccl-tests";
  }
  return "";
}

}  // namespace tangram
