#include "formats/import_cluster/inventory_format.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "formats/import_cluster/driver_reports.h"
#include "formats/import_cluster/hostfile.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// Kubernetes' JSON has "apiVersion" near its start or end; what its API gives
// to clients may lack it, and jq '.items' gives the nodes alone. Slurm's holds
// its nodes under "nodes" or "sinfo".
std::optional<InventoryFormat> DetectJson(absl::string_view text) {
  if (absl::StrContains(text, "\"apiVersion\"") ||
      (absl::StrContains(text, "\"metadata\"") &&
       (absl::StrContains(text, "\"items\"") ||
        absl::StrContains(text, "\"allocatable\"")))) {
    return InventoryFormat::kKubernetes;
  }
  if (absl::StrContains(text, "\"asic\"") &&
      absl::StrContains(text, "\"gpu\"")) {
    return InventoryFormat::kAmdSmiJson;
  }
  if (absl::StrContains(text, "\"nodes\"") ||
      absl::StrContains(text, "\"sinfo\"")) {
    return InventoryFormat::kSlurmJson;
  }
  if (absl::StrContains(text, "\"card0\""))
    return InventoryFormat::kRocmSmiJson;
  return std::nullopt;
}

// Detects the texts that tools of drivers print for people.
std::optional<InventoryFormat> DetectDriverLine(absl::string_view line) {
  // Drivers from 610 on tell two versions, of which one is KMD's.
  if (absl::StrContains(line, "NVIDIA-SMI") &&
      (absl::StrContains(line, "Driver Version") ||
       absl::StrContains(line, "KMD Version"))) {
    return InventoryFormat::kNvidiaSmiTable;
  }
  if (absl::StrContains(line, "NVSMI LOG")) {
    return InventoryFormat::kNvidiaSmiQuery;
  }
  if (absl::StrContains(line, "HL-SMI Version")) {
    return InventoryFormat::kHlSmi;
  }
  if (line == "HSA Agents") return InventoryFormat::kRocmInfo;
  if (absl::StrContains(line, "AMD-SMI") &&
      absl::StrContains(line, "ROCm version")) {
    return InventoryFormat::kAmdSmiTable;
  }
  if (absl::StartsWith(line, "GPU 0: ") ||
      absl::StartsWith(line, "GPU models and configuration: GPU 0: ")) {
    return InventoryFormat::kNvidiaSmiList;
  }
  if (absl::StartsWith(line, "[0] ") && absl::EndsWith(line, "MB |")) {
    return InventoryFormat::kGpustat;
  }
  if (IsRocmSmiTitles(line)) return InventoryFormat::kRocmSmiCsv;
  if (line == "name" || absl::StrContains(line, "memory.total") ||
      (absl::StrContains(line, ",") && absl::StartsWith(line, "name")) ||
      absl::StrContains(line, "uuid, name,")) {
    return InventoryFormat::kNvidiaSmiCsv;
  }
  if (absl::StrContains(line, "ROCm System Management Interface") ||
      absl::StartsWith(line, "GPU[0]")) {
    return InventoryFormat::kRocmSmi;
  }
  if (absl::StrContains(line, "MARKET_NAME:")) return InventoryFormat::kAmdSmi;
  if (absl::StrContains(line, "3D controller") ||
      absl::StrContains(line, "VGA compatible controller") ||
      absl::StrContains(line, "Processing accelerators")) {
    return InventoryFormat::kLspci;
  }
  return std::nullopt;
}

// Scripts have $SLURM_JOB_NODELIST, and squeue NODELIST(REASON).
bool HasTitle(absl::string_view line, absl::string_view title) {
  return absl::c_linear_search(std::vector<absl::string_view>(absl::StrSplit(
                                   line, absl::ByAnyChar(" \t|,;"))),
                               title);
}

std::optional<InventoryFormat> DetectLine(absl::string_view line) {
  // gres.conf names nodes too, but then files of devices.
  if (absl::StartsWith(WithoutFileName(line), "NodeName=") &&
      !absl::StrContains(line, " Name=")) {
    return InventoryFormat::kScontrolNodes;
  }
  if (absl::StartsWith(line, "SwitchName=") ||
      absl::StartsWith(line, "BlockName=")) {
    return InventoryFormat::kScontrolTopology;
  }
  if (absl::StartsWith(line, "apiVersion:")) {
    return InventoryFormat::kKubernetes;
  }
  if (absl::StrContains(line, "algbw") || absl::StrContains(line, "nThread")) {
    return InventoryFormat::kNcclTests;
  }
  if (absl::StrContains(line, "GPU0") && !absl::StrContains(line, "=")) {
    return InventoryFormat::kGpuTopology;
  }
  if (HasTitle(line, "NODELIST") && !absl::StrContains(line, "(REASON")) {
    return InventoryFormat::kSinfo;
  }
  if (absl::StartsWith(line, "HOSTNAMES") ||
      (absl::StrContains(line, "HOSTNAMES") &&
       absl::StrContains(line, "GRES"))) {
    return InventoryFormat::kSinfo;
  }
  return DetectDriverLine(line);
}

}  // namespace

std::optional<InventoryFormat> DetectFormat(absl::string_view text) {
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(start, "{") || absl::StartsWith(start, "[{") ||
      absl::StartsWith(start, "[\n")) {
    return DetectJson(text);
  }
  if (absl::StartsWith(start, "<?xml") ||
      absl::StartsWith(start, "<!DOCTYPE") ||
      absl::StartsWith(start, "<nvidia_smi_log")) {
    return InventoryFormat::kNvidiaSmiXml;
  }
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (const auto format = DetectLine(absl::StripAsciiWhitespace(line))) {
      return format;
    }
  }
  if (IsHostfile(text)) return InventoryFormat::kHostfile;
  if (IsNvidiaSmiRows(text)) return InventoryFormat::kNvidiaSmiRows;
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
    case InventoryFormat::kNvidiaSmiTable:
      return "nvidia-smi";
    case InventoryFormat::kHlSmi:
      return "hl-smi";
    case InventoryFormat::kNvidiaSmiList:
      return "nvidia-smi -L";
    case InventoryFormat::kNvidiaSmiCsv:
    case InventoryFormat::kNvidiaSmiRows:
      return "nvidia-smi --format=csv";
    case InventoryFormat::kNvidiaSmiQuery:
      return "nvidia-smi -q";
    case InventoryFormat::kRocmSmi:
    case InventoryFormat::kRocmSmiJson:
    case InventoryFormat::kRocmSmiCsv:
      return "rocm-smi";
    case InventoryFormat::kGpustat:
      return "gpustat";
    case InventoryFormat::kRocmInfo:
      return "rocminfo";
    case InventoryFormat::kAmdSmiTable:
      return "amd-smi";
    case InventoryFormat::kAmdSmi:
      return "amd-smi static";
    case InventoryFormat::kAmdSmiJson:
      return "amd-smi static --json";
    case InventoryFormat::kLspci:
      return "lspci";
    case InventoryFormat::kHostfile:
      return "a hostfile";
    case InventoryFormat::kGpuTopology:
      return "nvidia-smi topo -m";
    case InventoryFormat::kNcclTests:
      return "nccl-tests";
  }
  return "";
}

}  // namespace tangram
