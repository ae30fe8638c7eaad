#include "formats/import_cluster/slurm_sinfo.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/node_set.h"
#include "formats/import_cluster/slurm_node.h"

namespace tangram {
namespace {

// Titles of %N and NodeList, %n and NodeHost, %o and NodeAddr.
constexpr absl::string_view kNodeTitles[] = {"NODELIST", "HOSTNAMES",
                                             "NODE_ADDR"};

struct Column {
  std::string title;
  size_t begin = 0;  // Position in the title line.
};

// The titles of a line and their positions.
class SinfoTitles {
 public:
  explicit SinfoTitles(absl::string_view line) {
    for (const absl::string_view mark : {"|", ";", ","}) {
      if (mark_.empty() && absl::StrContains(line, mark)) mark_ = mark;
    }
    const absl::string_view gaps = mark_.empty() ? " \t" : mark_;
    for (size_t i = 0; i < line.size();) {
      const size_t begin = line.find_first_not_of(gaps, i);
      if (begin == absl::string_view::npos) break;
      i = std::min(line.find_first_of(gaps, begin), line.size());
      columns_.push_back({std::string(absl::StripAsciiWhitespace(
                              line.substr(begin, i - begin))),
                          begin});
    }
  }

  bool HasBars() const { return mark_ == "|"; }
  int Count() const { return static_cast<int>(columns_.size()); }

  int Find(absl::string_view title) const {
    const auto it = absl::c_find_if(
        columns_, [title](const Column& c) { return c.title == title; });
    return it == columns_.end() ? -1 : static_cast<int>(it - columns_.begin());
  }

  // Splits a line below the titles into cells. A full column touches the next,
  // and then only the positions of the titles separate them.
  std::vector<std::string> Cells(absl::string_view line) const {
    if (!mark_.empty()) {
      std::vector<std::string> cells = absl::StrSplit(line, mark_);
      for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
      return cells;
    }
    std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() == columns_.size()) return words;
    std::vector<std::string> cells;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const size_t begin = std::min(columns_[i].begin, line.size());
      const size_t end =
          i + 1 < columns_.size() ? columns_[i + 1].begin : line.size();
      cells.emplace_back(
          absl::StripAsciiWhitespace(line.substr(begin, end - begin)));
    }
    return cells;
  }

 private:
  absl::string_view mark_;  // Between cells; empty: blanks.
  std::vector<Column> columns_;
};

class SinfoTable {
 public:
  explicit SinfoTable(SinfoTitles titles) : titles_(std::move(titles)) {}

  absl::Status AddLine(absl::string_view line, NodeSet& nodes) const {
    const std::vector<std::string> cells = titles_.Cells(line);
    // Lists of nodes and of resources have commas of their own, but no bars.
    if (!titles_.HasBars() &&
        static_cast<int>(cells.size()) > titles_.Count()) {
      return absl::InvalidArgumentError(
          absl::StrCat(cells.size(), " cells; expected ", titles_.Count(),
                       ", as the titles: sinfo -N -o '%N|%P|%t|%G|%E'"));
    }
    SlurmNode node{
        .state = Cell(cells, "STATE"),
        .gres = Cell(cells, "GRES"),
        .gres_used = Cell(cells, "GRES_USED"),
        .features = FirstOf(cells, {"ACTIVE_FEATURES", "FEATURES_ACT",
                                    "AVAIL_FEATURES", "FEATURES"}),
        .reason = Cell(cells, "REASON")};
    const std::string partition = Cell(cells, "PARTITION");
    if (!partition.empty()) {
      // sinfo marks the default partition with '*'.
      node.partitions = {std::string(absl::StripSuffix(partition, "*"))};
    }
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                             ExpandHostlist(FirstOf(cells, kNodeTitles)));
    for (const std::string& name : names) {
      node.name = name;
      TANGRAM_ASSIGN_OR_RETURN(InventoryNode found, NodeFromSlurm(node));
      nodes.Add(std::move(found));
    }
    return absl::OkStatus();
  }

 private:
  std::string FirstOf(const std::vector<std::string>& cells,
                      absl::Span<const absl::string_view> titles) const {
    for (const absl::string_view title : titles) {
      std::string cell = Cell(cells, title);
      if (!cell.empty()) return cell;
    }
    return "";
  }

  std::string Cell(const std::vector<std::string>& cells,
                   absl::string_view title) const {
    const int index = titles_.Find(title);
    return index < 0 || index >= static_cast<int>(cells.size()) ? ""
                                                                : cells[index];
  }

  SinfoTitles titles_;
};

absl::Status CheckTitles(const SinfoTitles& titles) {
  for (const absl::string_view title : {"STATE", "GRES"}) {
    if (titles.Find(title) >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "no column ", title, "; expected sinfo -N -o '%N|%P|%t|%G|%E'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<InventoryNode>> ParseSinfoTable(
    absl::string_view text) {
  NodeSet nodes;
  std::optional<SinfoTable> table;
  int number = 0;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripTrailingAsciiWhitespace(raw);
    if (line.empty()) continue;
    if (!table.has_value()) {
      SinfoTitles titles(line);
      // -l prints the date first.
      if (!absl::c_any_of(kNodeTitles, [&](absl::string_view title) {
            return titles.Find(title) >= 0;
          })) {
        continue;
      }
      TANGRAM_RETURN_IF_ERROR(CheckTitles(titles));
      table.emplace(std::move(titles));
      continue;
    }
    if (const absl::Status status = table->AddLine(line, nodes); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", status.message()));
    }
  }
  if (!table.has_value()) {
    return absl::InvalidArgumentError("no column NODELIST");
  }
  return nodes.Take();
}

}  // namespace tangram
