#include "formats/import_cluster/hostfile.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/node_set.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

bool IsHostName(absl::string_view name) {
  return !name.empty() && absl::c_all_of(name, [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

std::optional<int> SlotsOf(absl::string_view text) {
  int slots = 0;
  const bool valid = absl::SimpleAtoi(text, &slots);
  if (!valid || slots < 1 || slots > kMaxGpusPerNode) return std::nullopt;
  return slots;
}

// Reads a line without its comment; empty if it is none of a hostfile.
std::optional<InventoryNode> ReadHost(absl::string_view line) {
  std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  InventoryGpus gpus;
  absl::string_view host = words.front();
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos) {
    const std::optional<int> slots = SlotsOf(host.substr(colon + 1));
    if (!slots.has_value()) return std::nullopt;
    gpus.count = *slots;
    host = host.substr(0, colon);
  }
  for (size_t i = 1; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (absl::ConsumePrefix(&word, "slots=")) {
      const std::optional<int> slots = SlotsOf(word);
      if (!slots.has_value()) return std::nullopt;
      gpus.count = *slots;
    } else if (absl::ConsumePrefix(&word, "type=")) {
      gpus.name = std::string(word);
    } else if (!absl::StrContains(word, "=")) {
      return std::nullopt;
    }
  }
  if (!IsHostName(host) || gpus.count == 0) return std::nullopt;
  return InventoryNode{.name = std::string(host), .gpus = {std::move(gpus)}};
}

// Returns the lines that are neither empty nor comments, with their numbers.
std::vector<std::pair<int, absl::string_view>> HostLines(
    absl::string_view text) {
  std::vector<std::pair<int, absl::string_view>> lines;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (!line.empty()) lines.emplace_back(number, line);
  }
  return lines;
}

}  // namespace

absl::StatusOr<std::vector<InventoryNode>> ParseHostfile(
    absl::string_view text) {
  NodeSet nodes;
  for (const auto& [number, line] : HostLines(text)) {
    std::optional<InventoryNode> node = ReadHost(line);
    if (!node.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", Shown(line),
                       "; expected a host with its GPUs: worker-1 slots=8"));
    }
    if (nodes.Find(node->name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", Shown(node->name),
                       " for the second time; expected a line for each host, "
                       "with all its GPUs"));
    }
    nodes.Add(*std::move(node));
  }
  return nodes.Take();
}

bool IsHostfile(absl::string_view text) {
  const auto lines = HostLines(text);
  return !lines.empty() && absl::c_all_of(lines, [](const auto& line) {
    // A bad number is an error of its line.
    return absl::StrContains(line.second, "slots=") ||
           ReadHost(line.second).has_value();
  });
}

}  // namespace tangram
