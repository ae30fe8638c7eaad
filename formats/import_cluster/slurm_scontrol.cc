#include "formats/import_cluster/slurm_scontrol.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/slurm_node.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// "Key=value" words of a record, which may span several lines. Words without a
// key continue a value with blanks; no such value is used.
struct Record {
  int line = 0;  // First line, counted from 1.
  std::vector<std::pair<std::string, std::string>> fields;

  std::string Get(absl::string_view key) const {
    for (const auto& [name, value] : fields) {
      if (name == key) return value;
    }
    return "";
  }
};

// Precedes free text that ends with its author:
// "gpu ecc [root@2026-11-21T00:30:46]".
constexpr absl::string_view kReason = "Reason=";

void AddFields(absl::string_view line, Record& record) {
  const size_t reason = line.find(kReason);
  const bool is_word = reason == 0 || (reason != absl::string_view::npos &&
                                       absl::ascii_isspace(line[reason - 1]));
  if (is_word) {
    absl::string_view text = line.substr(reason + kReason.size());
    text = text.substr(0, text.rfind(" ["));
    record.fields.emplace_back("Reason", absl::StripAsciiWhitespace(text));
    line = line.substr(0, reason);
  }
  for (const absl::string_view word :
       absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
    const size_t equals = word.find('=');
    if (equals == absl::string_view::npos) continue;
    record.fields.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

// Lines of slurm.conf that are about something else than the node above them.
bool EndsRecord(absl::string_view line) {
  for (const absl::string_view start :
       {"PartitionName=", "DownNodes=", "NodeSet=", "FrontendName="}) {
    if (absl::StartsWith(line, start)) return true;
  }
  return false;
}

// Calls `take` with each record of the text, until one fails. A line that
// begins with one of `starts` begins a record; comments are in none. Only one
// record is in memory, because those of a large cluster take several times the
// text.
absl::Status ForEachRecord(
    absl::string_view text, absl::Span<const absl::string_view> starts,
    absl::FunctionRef<absl::Status(const Record&)> take) {
  std::optional<Record> record;
  int number = 0;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line =
        WithoutFileName(absl::StripAsciiWhitespace(raw));
    if (absl::StartsWith(line, "#")) continue;
    const bool begins = absl::c_any_of(starts, [line](absl::string_view start) {
      return absl::StartsWith(line, start);
    });
    if (begins || EndsRecord(line)) {
      if (record.has_value()) TANGRAM_RETURN_IF_ERROR(take(*record));
      record.reset();
    }
    if (begins) record = Record{.line = number};
    if (record.has_value()) AddFields(line, *record);
  }
  return record.has_value() ? take(*record) : absl::OkStatus();
}

absl::Status ErrorIn(const Record& record, absl::string_view field,
                     const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", record.line, ": ", field, ": ", status.message()));
}

// Features that a reboot changes are active or available; the first hold now.
std::string Features(const Record& record) {
  std::string features = record.Get("ActiveFeatures");
  return features.empty() ? record.Get("AvailableFeatures") : features;
}

std::vector<std::string> Partitions(const Record& record) {
  return absl::StrSplit(record.Get("Partitions"), ',', absl::SkipEmpty());
}

// Returns the generic resources of a node. A record that was cut to some fields
// may have them among its trackable resources alone, the total first:
// "CfgTRES=cpu=48,gres/gpu=4,gres/gpu:v100=4".
std::string Gres(const Record& record) {
  std::string gres = record.Get("Gres");
  if (!gres.empty()) return gres;
  std::string total;
  std::vector<std::string> typed;
  for (absl::string_view part : absl::StrSplit(record.Get("CfgTRES"), ',')) {
    if (!absl::ConsumePrefix(&part, "gres/gpu")) continue;
    const bool has_type = absl::ConsumePrefix(&part, ":");
    const std::pair<absl::string_view, absl::string_view> type_and_count =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (has_type) {
      typed.push_back(absl::StrCat("gpu:", type_and_count.first, ":",
                                   type_and_count.second));
    } else {
      total = absl::StrCat("gpu:", type_and_count.second);
    }
  }
  return typed.empty() ? total : absl::StrJoin(typed, ",");
}

}  // namespace

absl::StatusOr<std::vector<InventoryNode>> ParseScontrolNodes(
    absl::string_view text) {
  std::vector<InventoryNode> nodes;
  TANGRAM_RETURN_IF_ERROR(
      ForEachRecord(text, {"NodeName="}, [&](const Record& record) {
        absl::StatusOr<InventoryNode> node =
            NodeFromSlurm({.name = record.Get("NodeName"),
                           .state = record.Get("State"),
                           .gres = Gres(record),
                           .gres_used = record.Get("GresUsed"),
                           .features = Features(record),
                           .reason = record.Get("Reason"),
                           .partitions = Partitions(record)});
        if (!node.ok()) return ErrorIn(record, "Gres", node.status());
        nodes.push_back(*std::move(node));
        return absl::OkStatus();
      }));
  return nodes;
}

absl::StatusOr<std::vector<NetworkBlock>> ParseScontrolTopology(
    absl::string_view text) {
  std::vector<NetworkBlock> blocks;
  const auto take = [&](const Record& record) {
    const std::string nodes = record.Get("Nodes");
    if (nodes.empty() || !record.Get("Switches").empty()) {
      return absl::OkStatus();
    }
    NetworkBlock block{.name = record.Get("SwitchName")};
    if (block.name.empty()) block.name = record.Get("BlockName");
    absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(nodes);
    if (!names.ok()) return ErrorIn(record, "Nodes", names.status());
    block.nodes = *std::move(names);
    blocks.push_back(std::move(block));
    return absl::OkStatus();
  };
  TANGRAM_RETURN_IF_ERROR(
      ForEachRecord(text, {"SwitchName=", "BlockName="}, take));
  return blocks;
}

}  // namespace tangram
