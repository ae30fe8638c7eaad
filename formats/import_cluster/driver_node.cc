#include "formats/import_cluster/driver_node.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {

void CountNamed(absl::string_view name, InventoryNode& node) {
  const auto it = absl::c_find_if(
      node.gpus, [name](const InventoryGpus& g) { return g.name == name; });
  if (it != node.gpus.end()) {
    ++it->count;
  } else {
    node.gpus.push_back({.name = std::string(name), .count = 1});
  }
}

std::string NameInMigMode(absl::string_view name) {
  return absl::StrCat(name, "-MIG-mode");
}

std::string NameInPartition(absl::string_view name, absl::string_view mode) {
  for (const absl::string_view parts : {"DPX", "TPX", "QPX", "CPX"}) {
    if (absl::StartsWith(mode, parts)) {
      return absl::StrCat(name, " partition ", mode);
    }
  }
  return std::string(name);
}

std::string NameWithUnits(absl::string_view name, int compute_units) {
  const CatalogueDevice* const whole = MatchGpu(name, 0).device;
  if (whole == nullptr || compute_units == 0 ||
      compute_units >= whole->compute_units) {
    return std::string(name);
  }
  return absl::StrCat(name, " part of ", compute_units, " compute units");
}

int NumberOf(absl::string_view text) {
  int number = 0;
  return absl::SimpleAtoi(text, &number) && number > 0 ? number : 0;
}

void SeenGpus::Add(absl::string_view gpu) {
  if (!gpus_.insert(std::string(gpu)).second && again_.empty()) {
    again_ = std::string(gpu);
  }
}

absl::Status SeenGpus::Check() const {
  if (again_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("GPU ", Shown(again_),
                   " for the second time; expected the output of one node, "
                   "printed once"));
}

absl::StatusOr<InventoryNode> CheckedNode(InventoryNode node,
                                          absl::string_view command) {
  int count = 0;
  for (const InventoryGpus& gpus : node.gpus) count += gpus.count;
  if (count >= 1 && count <= kMaxGpusPerNode) return node;
  return absl::InvalidArgumentError(
      absl::StrCat(count, " GPUs; expected the output of ", command,
                   " with 1 to ", kMaxGpusPerNode));
}

std::vector<absl::string_view> LinesOf(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (absl::string_view& line : lines) {
    line = absl::StripTrailingAsciiWhitespace(line);
  }
  return lines;
}

std::vector<absl::string_view> WordsIn(absl::string_view cell) {
  return absl::StrSplit(cell, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

std::optional<absl::string_view> ValueOf(absl::string_view line,
                                         absl::string_view key) {
  const std::string lower = absl::AsciiStrToLower(line);
  const size_t at = lower.find(absl::StrCat(key, ":"));
  if (at == std::string::npos) return std::nullopt;
  return absl::StripAsciiWhitespace(line.substr(at + key.size() + 1));
}

}  // namespace tangram
