#include "formats/config/node_lattice.h"

#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/domain/keep_nodes.h"
#include "common/domain/limits.h"

namespace tangram {
namespace {

constexpr absl::string_view kExpectedNumbers =
    "<group>=<numbers>, such as t4=2, t4=0..8:2, t4=1..16:x2 or t4=1|2|4";

absl::Status LatticeError(absl::string_view what, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "nodes: ", absl::Utf8SafeCEscape(what), "; expected ", expected));
}

// first..last in steps of `step`, or multiplied by `factor` each time.
struct Range {
  int first = 0;
  int last = 0;
  int step = 1;
  int factor = 1;
};

// Parses "3", "0..8", "0..8:2" or "1..16:x2".
std::optional<Range> ParseRange(absl::string_view text) {
  Range range;
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits("..", 1));
  if (!absl::SimpleAtoi(ends.first, &range.first)) return std::nullopt;
  range.last = range.first;
  if (!absl::StrContains(text, "..")) return range;
  const std::pair<absl::string_view, absl::string_view> steps =
      absl::StrSplit(ends.second, absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(steps.first, &range.last)) return std::nullopt;
  if (!absl::StrContains(ends.second, ':')) return range;
  absl::string_view step = steps.second;
  if (absl::ConsumePrefix(&step, "x")) {
    range.step = 0;
    const bool grows = absl::SimpleAtoi(step, &range.factor) &&
                       range.factor > 1 && range.first > 0;
    return grows ? std::make_optional(range) : std::nullopt;
  }
  if (!absl::SimpleAtoi(step, &range.step) || range.step < 1) {
    return std::nullopt;
  }
  return range;
}

// Parses "1|2|4..8" for a group with `available` nodes.
absl::StatusOr<std::set<int>> ParseCounts(absl::string_view part,
                                          absl::string_view text,
                                          int available) {
  std::set<int> counts;
  for (const absl::string_view item : absl::StrSplit(text, '|')) {
    const std::optional<Range> range = ParseRange(item);
    if (!range.has_value()) return LatticeError(part, kExpectedNumbers);
    if (range->first < 0 || range->last < range->first ||
        range->last > available) {
      return LatticeError(part, absl::StrCat("ascending numbers from 0 to ",
                                             available, " nodes"));
    }
    int64_t count = range->first;
    while (count <= range->last) {
      counts.insert(static_cast<int>(count));
      count = count * range->factor + range->step;
    }
  }
  return counts;
}

// "h100=0..4" in its parts.
struct NamedPart {
  absl::string_view whole;
  absl::string_view group;
  absl::string_view numbers;
};

// Splits "h100=0..4,a100=2". Each group may come once.
absl::StatusOr<std::vector<NamedPart>> Split(absl::string_view text) {
  std::vector<NamedPart> parts;
  std::set<absl::string_view> named;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!absl::StrContains(part, '=') || sides.first.empty()) {
      return LatticeError(part, kExpectedNumbers);
    }
    if (!named.insert(sides.first).second) {
      return LatticeError(sides.first, "each group once");
    }
    parts.push_back({part, sides.first, sides.second});
  }
  return parts;
}

std::vector<int> UpTo(int most) {
  std::vector<int> counts(most + 1);
  absl::c_iota(counts, 0);
  return counts;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<int>>> ParseNodeLattice(
    absl::string_view text, const Cluster& cluster) {
  const std::vector<int> available = NodesOfGroups(cluster);
  std::vector<std::vector<int>> counts;
  for (const int all : available) {
    counts.push_back(text.empty() ? UpTo(all) : std::vector<int>{all});
  }
  if (text.empty()) return counts;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<NamedPart> parts, Split(text));
  for (const NamedPart& part : parts) {
    const auto group = absl::c_find(cluster.groups, part.group);
    if (group == cluster.groups.end()) {
      return LatticeError(part.group,
                          absl::StrCat("one of the groups ",
                                       absl::StrJoin(cluster.groups, ", ")));
    }
    const size_t g = group - cluster.groups.begin();
    TANGRAM_ASSIGN_OR_RETURN(
        const std::set<int> chosen,
        ParseCounts(part.whole, part.numbers, available[g]));
    counts[g].assign(chosen.begin(), chosen.end());
  }
  return counts;
}

absl::StatusOr<std::vector<NodeCount>> MostNodes(absl::string_view text) {
  std::vector<NodeCount> most;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<NamedPart> parts, Split(text));
  for (const NamedPart& part : parts) {
    TANGRAM_ASSIGN_OR_RETURN(const std::set<int> chosen,
                             ParseCounts(part.whole, part.numbers, kMaxNodes));
    most.emplace_back(part.group, *chosen.rbegin());
  }
  return most;
}

}  // namespace tangram
