#include "coordinator/planners/constraints/resolve_constraints.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Returns the error `constraints.field: found; expected ...`.
absl::Status Bad(absl::string_view field, absl::string_view found,
                 absl::string_view expected) {
  return FieldError(absl::StrCat("constraints.", field),
                    found.empty() ? "\"\"" : absl::Utf8SafeCEscape(found),
                    expected);
}

std::string FieldAt(const char* field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

// Finds islands by number, name, type of GPU or group. Requests may hold many
// names, so each is looked up in O(log names).
class IslandNames {
 public:
  IslandNames(const Cluster& cluster, absl::Span<const Island> islands)
      : islands_(islands) {
    for (const Island& island : islands) {
      std::set<int> groups;
      for (const int node : island.nodes) {
        groups.insert(cluster.nodes[node].group);
      }
      Add(absl::StrCat(island.id), island);
      Add(island.name, island);
      Add(island.spec.device.type, island);
      for (const int group : groups) Add(cluster.groups[group], island);
    }
  }

  uint32_t all() const {
    return static_cast<uint32_t>((uint64_t{1} << islands_.size()) - 1);
  }

  // Returns the islands that `name` selects, a bit each.
  absl::StatusOr<uint32_t> Find(absl::string_view field,
                                absl::string_view name) const {
    const auto found = named_.find(absl::AsciiStrToLower(name));
    if (found != named_.end()) return found->second;
    return Bad(
        field, name,
        absl::StrCat("an island by number, name, type of GPU or group: ",
                     absl::StrJoin(islands_, ", ",
                                   [](std::string* out, const Island& island) {
                                     absl::StrAppend(out, island.id, " (",
                                                     island.name, ")");
                                   })));
  }

 private:
  void Add(absl::string_view name, const Island& island) {
    named_[absl::AsciiStrToLower(name)] |= uint32_t{1} << island.id;
  }

  const absl::Span<const Island> islands_;
  std::map<std::string, uint32_t> named_;  // By name in lower case; a bit each.
};

// Sets `member` of the limits of all islands that each value names.
absl::Status ApplyValues(const char* field,
                         absl::Span<const IslandValue> values,
                         const IslandNames& names, int StageLimits::*member,
                         IslandRules& rules) {
  // Whether an island has a value, for it alone or for all.
  std::map<std::pair<size_t, bool>, int> given;
  for (const IslandValue& value : values) {
    if (value.value <= 0) {
      return Bad(field, absl::StrCat(value.value), "a positive integer");
    }
    uint32_t islands = names.all();
    if (!value.island.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(islands, names.Find(field, value.island));
    }
    for (size_t i = 0; i < rules.limits.size(); ++i) {
      if ((islands >> i & 1) == 0) continue;
      const auto [it, is_new] =
          given.try_emplace({i, value.island.empty()}, value.value);
      if (!is_new && it->second != value.value) {
        return Bad(field, absl::StrCat(it->second, " and ", value.value),
                   "one value for an island");
      }
      rules.limits[i].*member = value.value;
    }
  }
  return absl::OkStatus();
}

// Puts the values for all islands first, so that values for one override them.
std::vector<IslandValue> GeneralFirst(std::vector<IslandValue> values) {
  std::stable_partition(
      values.begin(), values.end(),
      [](const IslandValue& value) { return value.island.empty(); });
  return values;
}

// Checks the pins and resolves their islands. With p_i(l) the number of pins
// that keep layer l off island i, the sum of p_i over its own differences,
//
//   kept_off[i][l + 1] = kept_off[i][l] + (p_i(l) > 0).
absl::Status ApplyPins(absl::Span<const LayerPin> pins, int num_layers,
                       const IslandNames& names, IslandRules& rules) {
  if (pins.empty()) return absl::OkStatus();
  rules.kept_off.assign(rules.limits.size(), std::vector<int>(num_layers + 1));
  std::vector<std::vector<int>> change(rules.limits.size(),
                                       std::vector<int>(num_layers + 1));
  for (size_t p = 0; p < pins.size(); ++p) {
    const LayerPin& pin = pins[p];
    const std::string at = FieldAt("pins", p);
    if (pin.first_layer < 0 || pin.last_layer >= num_layers ||
        pin.first_layer > pin.last_layer) {
      return Bad(at, absl::StrCat(pin.first_layer, "-", pin.last_layer),
                 absl::StrCat("layers from 0, the embedding, to ",
                              num_layers - 1, ", the head"));
    }
    TANGRAM_ASSIGN_OR_RETURN(const uint32_t islands,
                             names.Find(at, pin.island));
    for (size_t i = 0; i < change.size(); ++i) {
      if (islands >> i & 1) continue;
      ++change[i][pin.first_layer];
      --change[i][pin.last_layer + 1];
    }
  }
  for (size_t i = 0; i < change.size(); ++i) {
    int pins_here = 0;
    for (int l = 0; l < num_layers; ++l) {
      pins_here += change[i][l];
      rules.kept_off[i][l + 1] = rules.kept_off[i][l] + (pins_here > 0 ? 1 : 0);
    }
  }
  return absl::OkStatus();
}

// With L the least limit for all islands, the pipeline has at most L stages,
// and an island with a limit l of its own at most min(l, L).
absl::Status ApplyMaxStages(const PlanConstraints& constraints,
                            const IslandNames& names, IslandRules& rules) {
  const std::vector<IslandValue> values = GeneralFirst(constraints.max_stages);
  TANGRAM_RETURN_IF_ERROR(ApplyValues("max_stages", values, names,
                                      &StageLimits::max_stages, rules));
  for (const IslandValue& value : values) {
    if (!value.island.empty()) continue;
    rules.max_stages = std::min(rules.max_stages, value.value);
  }
  for (StageLimits& limits : rules.limits) {
    if (limits.max_stages == 0) continue;
    limits.max_stages = std::min(limits.max_stages, rules.max_stages);
  }
  return absl::OkStatus();
}

// A pipeline of pp stages has at most so many on each island. Any number there
// may be of use.
absl::Status ApplyPp(const PlanConstraints& constraints, int num_gpus,
                     IslandRules& rules) {
  const int pp = constraints.pp_degree;
  if (pp == 0) return absl::OkStatus();
  if (pp < 0 || pp > num_gpus) {
    return Bad(
        "pp_degree", absl::StrCat(pp),
        absl::StrCat("a positive integer, at most the ", num_gpus, " GPUs"));
  }
  if (pp > rules.max_stages) {
    return Bad("pp_degree", absl::StrCat(pp),
               absl::StrCat("at most max_stages, ", rules.max_stages));
  }
  rules.min_stages = rules.max_stages = pp;
  for (StageLimits& limits : rules.limits) {
    limits.each_depth = true;
    limits.max_stages =
        limits.max_stages == 0 ? pp : std::min(limits.max_stages, pp);
  }
  return absl::OkStatus();
}

// Checks what can be said of degrees and chunks without a plan.
absl::Status CheckScalars(const PlanConstraints& constraints,
                          const ModelSpec& model) {
  if (constraints.zero_stage.has_value() &&
      (*constraints.zero_stage < 0 || *constraints.zero_stage > 3)) {
    return Bad("zero_stage", absl::StrCat(*constraints.zero_stage),
               "0, 1, 2 or 3");
  }
  const int zero_degree = constraints.zero_degree;
  if (zero_degree < 0 || zero_degree == 1) {
    return Bad("zero_degree", absl::StrCat(zero_degree), "at least 2");
  }
  if (zero_degree > 0 && constraints.zero_stage == 0) {
    return Bad("zero_degree", absl::StrCat(zero_degree),
               "none, as zero_stage is 0");
  }
  if (constraints.ep_degree < 0) {
    return Bad("ep_degree", absl::StrCat(constraints.ep_degree),
               "a positive integer");
  }
  if (constraints.ep_degree > 1 && !model.has_experts()) {
    return Bad("ep_degree", absl::StrCat(constraints.ep_degree),
               absl::StrCat("1, as ", model.name, " has no experts"));
  }
  const int chunks = constraints.virtual_stages;
  if (chunks < 0) {
    return Bad("virtual_stages", absl::StrCat(chunks), "a positive integer");
  }
  const bool interleaves =
      DemandedSchedule(constraints) == PipelineSchedule::kInterleaved;
  if (chunks > 1 && !interleaves) {
    return Bad("virtual_stages", absl::StrCat(chunks),
               absl::StrCat("1, as the schedule is ",
                            ScheduleName(*constraints.schedule),
                            " and not interleaved"));
  }
  if (chunks == 1 && interleaves) {
    return Bad("virtual_stages", "1",
               "at least 2, as the schedule is interleaved");
  }
  if (interleaves && constraints.pp_degree == 1) {
    return Bad("pp_degree", "1", "at least 2, as the schedule is interleaved");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int>> ExcludedNodes(
    const PlanConstraints& constraints, const Cluster& cluster) {
  const std::set<absl::string_view> wanted(constraints.exclude_nodes.begin(),
                                           constraints.exclude_nodes.end());
  std::set<absl::string_view> found;
  std::vector<bool> excluded(cluster.nodes.size());
  for (size_t n = 0; n < cluster.nodes.size(); ++n) {
    const Node& node = cluster.nodes[n];
    for (const absl::string_view name :
         {absl::string_view(node.name),
          absl::string_view(cluster.groups[node.group])}) {
      if (!wanted.contains(name)) continue;
      excluded[n] = true;
      found.insert(name);
    }
  }
  for (size_t e = 0; e < constraints.exclude_nodes.size(); ++e) {
    const std::string& name = constraints.exclude_nodes[e];
    if (found.contains(name)) continue;
    return Bad(FieldAt("exclude_nodes", e), name,
               absl::StrCat("a node, such as ", cluster.nodes.front().name,
                            ", or a group of nodes: ",
                            absl::StrJoin(cluster.groups, ", ")));
  }
  std::vector<int> nodes;
  for (size_t n = 0; n < excluded.size(); ++n) {
    if (excluded[n]) nodes.push_back(static_cast<int>(n));
  }
  if (nodes.size() < cluster.nodes.size()) return nodes;
  return Bad("exclude_nodes", "every node", "at least one to be left");
}

std::vector<int> ConstraintMarks(const PlanConstraints& constraints,
                                 const Cluster& cluster) {
  std::set<std::string> names;  // Lower case.
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.insert(absl::AsciiStrToLower(name));
  };
  for (const std::string& name : constraints.exclude_islands) add(name);
  for (const auto* values :
       {&constraints.tp_degrees, &constraints.dp_degrees,
        &constraints.cp_degrees, &constraints.max_stages}) {
    for (const IslandValue& value : *values) add(value.island);
  }
  for (const LayerPin& pin : constraints.pins) add(pin.island);
  if (names.empty()) return {};
  // A node is named by its type, by its group, by both or not at all.
  std::map<std::pair<std::string, std::string>, int> mark_of;
  std::vector<int> marks;
  for (const Node& node : cluster.nodes) {
    std::pair<std::string, std::string> named;
    const std::string type = absl::AsciiStrToLower(node.device.type);
    const std::string group = absl::AsciiStrToLower(cluster.groups[node.group]);
    if (names.contains(type)) named.first = type;
    if (names.contains(group)) named.second = group;
    marks.push_back(mark_of.try_emplace(named, static_cast<int>(mark_of.size()))
                        .first->second);
  }
  return marks;
}

absl::StatusOr<IslandRules> ResolveConstraints(
    const PlanConstraints& constraints, const Cluster& cluster,
    const ModelSpec& model, absl::Span<const Island> islands) {
  TANGRAM_RETURN_IF_ERROR(CheckScalars(constraints, model));
  const IslandNames names(cluster, islands);
  IslandRules rules{.usable = names.all(),
                    .limits = std::vector<StageLimits>(
                        islands.size(), LimitsOfAllStages(constraints))};
  for (size_t e = 0; e < constraints.exclude_islands.size(); ++e) {
    TANGRAM_ASSIGN_OR_RETURN(const uint32_t excluded,
                             names.Find(FieldAt("exclude_islands", e),
                                        constraints.exclude_islands[e]));
    rules.usable &= ~excluded;
  }
  if (rules.usable == 0) {
    return Bad("exclude_islands", "every island", "at least one to be left");
  }
  TANGRAM_RETURN_IF_ERROR(ApplyValues("tp_degrees",
                                      GeneralFirst(constraints.tp_degrees),
                                      names, &StageLimits::tp_degree, rules));
  TANGRAM_RETURN_IF_ERROR(ApplyValues("dp_degrees",
                                      GeneralFirst(constraints.dp_degrees),
                                      names, &StageLimits::dp_degree, rules));
  TANGRAM_RETURN_IF_ERROR(ApplyValues("cp_degrees",
                                      GeneralFirst(constraints.cp_degrees),
                                      names, &StageLimits::cp_degree, rules));
  TANGRAM_RETURN_IF_ERROR(ApplyMaxStages(constraints, names, rules));
  TANGRAM_RETURN_IF_ERROR(ApplyPp(constraints, cluster.num_gpus(), rules));
  TANGRAM_RETURN_IF_ERROR(
      ApplyPins(constraints.pins, model.num_layers(), names, rules));
  return rules;
}

}  // namespace tangram
