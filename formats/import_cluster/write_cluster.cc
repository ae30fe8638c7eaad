#include "formats/import_cluster/write_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/config/cluster_file.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// Columns of a terminal, less one for the line break.
constexpr size_t kWidth = 79;
// More names of nodes than these make a list that nobody reads.
constexpr size_t kMostNames = 50;

// Fills lines with `words`; the first begins with `first`, others with `rest`.
std::string Filled(const std::string& first, const std::string& rest,
                   absl::string_view words) {
  std::string text;
  std::string line = first;
  bool is_empty = true;
  for (const absl::string_view word :
       absl::StrSplit(words, ' ', absl::SkipEmpty())) {
    if (!is_empty && line.size() + 1 + word.size() > kWidth) {
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
      line = rest;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    absl::StrAppend(&line, word);
    is_empty = false;
  }
  return absl::StrCat(text, line, "\n");
}

std::string Comment(const std::string& indent, absl::string_view text) {
  return Filled(absl::StrCat(indent, "# "), absl::StrCat(indent, "#   "), text);
}

std::string FieldLine(absl::string_view indent, const DraftField& field) {
  return absl::StrCat(indent, field.key, ": ", field.value, "  # ",
                      field.source, "\n");
}

// Writes the parts of a link in their usual order.
std::string LinkLines(absl::string_view key, const DraftFields& fields,
                      const std::string& indent) {
  if (fields.empty()) return "";
  std::string text = absl::StrCat(indent, key, ":\n");
  DraftFields rest = fields;
  for (const absl::string_view part :
       {"bandwidth", "pair_bandwidth", "latency"}) {
    const auto it = absl::c_find_if(
        rest, [part](const DraftField& field) { return field.key == part; });
    if (it == rest.end()) continue;
    absl::StrAppend(&text, FieldLine(indent + "  ", *it));
    rest.erase(it);
  }
  for (const DraftField& field : rest) {
    absl::StrAppend(&text, FieldLine(indent + "  ", field));
  }
  return text;
}

// Returns "assumed (catalogue: T4): memory 15.84 GB, inter_node ...", one
// paragraph a source, for the fields whose names begin with `prefix`.
std::string AssumptionComments(const std::string& prefix,
                               absl::Span<const Assumption> assumptions,
                               const std::string& indent) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_source;
  for (const Assumption& assumption : assumptions) {
    if (!absl::StartsWith(assumption.field, prefix)) continue;
    auto it = absl::c_find_if(by_source, [&assumption](const auto& entry) {
      return entry.first == assumption.source;
    });
    if (it == by_source.end()) {
      by_source.push_back({assumption.source, {}});
      it = by_source.end() - 1;
    }
    it->second.push_back(absl::StrCat(
        absl::StripPrefix(
            absl::string_view(assumption.field).substr(prefix.size()), "."),
        " ", assumption.value));
  }
  std::string text;
  for (const auto& [source, values] : by_source) {
    absl::StrAppend(&text,
                    Comment(indent, absl::StrCat("assumed (", source, "): ",
                                                 absl::StrJoin(values, ", "))));
  }
  return text;
}

// Writes the number and names of the nodes, below the GPU.
std::string NodeLines(const DraftGroup& group) {
  if (group.node_names.empty()) return "";
  return absl::StrCat("    nodes: ", group.node_names.size(), "\n",
                      Filled("    node_names: [", "      ",
                             absl::StrJoin(group.node_names, ", ") + "]"));
}

std::string GroupLines(const DraftGroup& group,
                       absl::Span<const Assumption> assumptions) {
  std::string text = absl::StrCat("  - name: ", YamlScalar(group.name));
  if (!group.name_source.empty()) {
    absl::StrAppend(&text, "  # ", group.name_source);
  }
  absl::StrAppend(&text, "\n");
  for (const DraftField& field : group.fields) {
    absl::StrAppend(&text, FieldLine("    ", field));
    if (field.key == "gpu") absl::StrAppend(&text, NodeLines(group));
  }
  absl::StrAppend(&text, LinkLines("intra_node", group.intra_node, "    "),
                  LinkLines("inter_node", group.inter_node, "    "),
                  AssumptionComments(absl::StrCat("groups[", group.name, "]"),
                                     assumptions, "    "));
  return text;
}

std::string LinkEntry(const DraftLink& link) {
  std::string text = absl::StrCat("  - from: ", YamlScalar(link.from),
                                  "\n    to: ", YamlScalar(link.to), "\n");
  if (!link.both) absl::StrAppend(&text, "    both: false\n");
  for (const DraftField& field : link.fields) {
    absl::StrAppend(&text, FieldLine("    ", field));
  }
  return text;
}

}  // namespace

std::vector<std::string> SkippedByReason(
    absl::Span<const SkippedNode> skipped) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const SkippedNode& node : skipped) {
    auto it = absl::c_find_if(by_reason, [&node](const auto& entry) {
      return entry.first == node.why;
    });
    if (it == by_reason.end()) {
      by_reason.push_back({node.why, {}});
      it = by_reason.end() - 1;
    }
    it->second.push_back(node.name);
  }
  std::vector<std::string> lines;
  for (auto& [why, names] : by_reason) {
    const size_t hidden = names.size() - std::min(names.size(), kMostNames);
    names.resize(names.size() - hidden);
    lines.push_back(absl::StrCat(
        absl::StrJoin(names, ", "),
        hidden > 0 ? absl::StrCat(" and ", hidden, " more") : "", ": ", why));
  }
  return lines;
}

std::string WriteCluster(const ClusterDraft& draft,
                         absl::Span<const Assumption> assumptions) {
  std::string text = Comment(
      "", absl::StrCat("Made by tangram import cluster from ", draft.sources,
                       ". Comments name the source of each value. Assumed "
                       "values are not in the file, so that a plan lists "
                       "them."));
  absl::StrAppend(&text, "tangram_cluster: ", kClusterFileVersion,
                  "\nname: ", YamlScalar(draft.name), "\ngroups:\n");
  for (const DraftGroup& group : draft.groups) {
    absl::StrAppend(&text, GroupLines(group, assumptions));
  }
  if (!draft.links.empty()) absl::StrAppend(&text, "links:\n");
  for (const DraftLink& link : draft.links) {
    absl::StrAppend(&text, LinkEntry(link));
  }
  absl::StrAppend(&text, LinkLines("default_link", draft.default_link, ""),
                  AssumptionComments("links", assumptions, ""));
  for (const std::string& note : draft.notes) {
    absl::StrAppend(&text, Comment("", note));
  }
  for (const std::string& line : SkippedByReason(draft.skipped)) {
    absl::StrAppend(&text, Comment("", absl::StrCat("left out: ", line)));
  }
  return text;
}

}  // namespace tangram
