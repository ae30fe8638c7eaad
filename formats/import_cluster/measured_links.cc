#include "formats/import_cluster/measured_links.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "formats/config/device_fields.h"
#include "formats/config/link_fields.h"
#include "formats/config/units.h"
#include "formats/import_cluster/find_groups.h"
#include "formats/import_cluster/link_fit.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// A run and the groups that its link joins.
struct PlacedRun {
  std::string source;
  FittedLink link;
  std::vector<int> from;
  std::vector<int> to;  // Empty: the link is inside the groups of `from`.
};

// Returns the groups of the nodes on which the run took place.
absl::StatusOr<std::vector<int>> GroupsOfHosts(const NcclRun& run,
                                               const ClusterDraft& draft) {
  if (run.hosts.empty()) {
    if (draft.groups.size() == 1) return std::vector<int>{0};
    return absl::InvalidArgumentError(
        "does not say on which nodes it ran; expected GROUP=FILE");
  }
  // Nodes may be listed with or without their domains.
  std::vector<std::string> names(run.hosts.begin(), run.hosts.end());
  for (const std::string& host : run.hosts) {
    names.push_back(host.substr(0, host.find('.')));
  }
  return FindGroups(absl::StrJoin(names, ","), draft);
}

absl::StatusOr<PlacedRun> Place(const ScopedRun& scoped,
                                const ClusterDraft& draft) {
  PlacedRun placed{.source = scoped.source};
  TANGRAM_ASSIGN_OR_RETURN(placed.link, FitLink(scoped.run));
  if (scoped.scope.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(placed.from, GroupsOfHosts(scoped.run, draft));
    if (placed.from.size() == 2 && placed.link.nodes > 1) {
      placed.to = {placed.from.back()};
      placed.from.pop_back();
    }
  } else {
    const std::pair<std::string, std::string> ends =
        absl::StrSplit(scoped.scope, absl::MaxSplits(':', 1));
    TANGRAM_ASSIGN_OR_RETURN(placed.from, FindGroups(ends.first, draft));
    if (!ends.second.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(placed.to, FindGroups(ends.second, draft));
    }
  }
  return placed;
}

void SetLink(const PlacedRun& run, bool is_pair, bool is_all,
             DraftFields& fields) {
  const std::string source =
      absl::StrCat("measured, ", Shown(run.source), ": ", run.link.what);
  const std::string bandwidth =
      FormatQuantity(run.link.bandwidth_bytes_per_s, Dimension::kBandwidth);
  if (is_all) SetField({"bandwidth", bandwidth, source}, fields);
  if (is_pair) SetField({"pair_bandwidth", bandwidth, source}, fields);
  if (!run.link.latency_s.has_value()) return;
  SetField({"latency", FormatQuantity(*run.link.latency_s, Dimension::kSeconds),
            source},
           fields);
}

// Sets the link inside a node or between the nodes of a group. Two GPUs, or one
// in each node, measure the bandwidth of a pair.
void SetInside(const PlacedRun& run, ClusterDraft& draft) {
  for (const int index : run.from) {
    DraftGroup& group = draft.groups[index];
    if (run.link.nodes <= 1) {
      const bool is_pair = run.link.ranks == 2;
      SetLink(run, is_pair, !is_pair || group.num_gpus == 2, group.intra_node);
      continue;
    }
    const bool is_pair = run.link.ranks == run.link.nodes;
    SetLink(run, is_pair, !is_pair || group.num_gpus == 1, group.inter_node);
  }
}

void SetBetween(const PlacedRun& run, int from, int to, ClusterDraft& draft) {
  if (from == to) return;
  const std::string& from_name = draft.groups[from].name;
  const std::string& to_name = draft.groups[to].name;
  auto it = absl::c_find_if(draft.links, [&](const DraftLink& link) {
    return link.from == from_name && link.to == to_name;
  });
  if (it == draft.links.end()) {
    draft.links.push_back({.from = from_name, .to = to_name});
    it = draft.links.end() - 1;
  }
  const bool is_pair = run.link.ranks <= 2;
  const bool has_one_gpu =
      std::min(draft.groups[from].num_gpus, draft.groups[to].num_gpus) == 1;
  SetLink(run, is_pair, !is_pair || has_one_gpu, it->fields);
}

double ValueOf(const DraftField* field) {
  if (field == nullptr) return 0;
  return ParseQuantity(field->value, Dimension::kBandwidth).value_or(0);
}

// Fills the one of both bandwidths that no run measured, from the catalogue if
// it knows the link, else from the other bandwidth. Between nodes a pair gets
// no more than the whole node.
void Complete(const std::optional<LinkDefaults>& known, LinkPlace place,
              DraftFields& fields) {
  const double all = ValueOf(FindField(fields, "bandwidth"));
  const double pair = ValueOf(FindField(fields, "pair_bandwidth"));
  if ((all == 0) == (pair == 0)) return;
  const std::string source = known.has_value()
                                 ? absl::StrCat("assumed: ", known->source)
                                 : "assumed: as what was measured";
  const auto set = [&](absl::string_view key, double value) {
    SetField({std::string(key), FormatQuantity(value, Dimension::kBandwidth),
              source},
             fields);
  };
  if (all == 0) {
    const double assumed =
        known.has_value() ? known->link.bandwidth_bytes_per_s : pair;
    set("bandwidth",
        place == LinkPlace::kInterNode ? std::max(assumed, pair) : assumed);
  } else {
    const double assumed =
        known.has_value() ? known->link.pair_bandwidth_bytes_per_s : all;
    set("pair_bandwidth",
        place == LinkPlace::kInterNode ? std::min(assumed, all) : assumed);
  }
}

void CompleteGroup(DraftGroup& group) {
  std::optional<LinkDefaults> intra;
  std::optional<LinkDefaults> inter;
  if (group.device != nullptr) {
    const std::string source = CatalogueSource(*group.device);
    intra = {LinkPlace::kIntraNode, group.device->intra_node, source};
    inter = {LinkPlace::kInterNode, group.device->inter_node, source};
  }
  Complete(intra, LinkPlace::kIntraNode, group.intra_node);
  Complete(inter, LinkPlace::kInterNode, group.inter_node);
}

}  // namespace

absl::Status SetMeasuredLinks(absl::Span<const ScopedRun> runs,
                              ClusterDraft& draft) {
  std::vector<PlacedRun> placed;
  for (const ScopedRun& run : runs) {
    absl::StatusOr<PlacedRun> found = Place(run, draft);
    if (IsOfOtherNodes(found.status(), run.source, draft)) continue;
    if (!found.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(run.source, ": ", found.status().message()));
    }
    placed.push_back(*std::move(found));
  }
  // Runs over more GPUs come later and replace earlier ones.
  absl::c_stable_sort(placed, [](const PlacedRun& a, const PlacedRun& b) {
    return a.link.ranks < b.link.ranks;
  });
  for (const PlacedRun& run : placed) {
    if (run.to.empty()) SetInside(run, draft);
    for (const int from : run.from) {
      for (const int to : run.to) SetBetween(run, from, to, draft);
    }
  }
  for (DraftGroup& group : draft.groups) CompleteGroup(group);
  for (DraftLink& link : draft.links) {
    Complete(std::nullopt, LinkPlace::kInterNode, link.fields);
  }
  return absl::OkStatus();
}

}  // namespace tangram
