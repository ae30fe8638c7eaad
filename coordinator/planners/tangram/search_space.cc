#include "coordinator/planners/tangram/search_space.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/islands/alike_islands.h"
#include "coordinator/planners/constraints/limit_islands.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/tangram/atom_groups.h"
#include "coordinator/planners/tangram/estimate_cost.h"
#include "coordinator/planners/tangram/planning_limits.h"
#include "coordinator/planners/tangram/slice_model.h"

namespace tangram {
namespace {

// Groups islands with equal specs and equal usability; one each unless
// `merge_equal`.
std::vector<IslandClass> ClassesOf(absl::Span<const Island> islands,
                                   const IslandRules& rules, bool merge_equal) {
  std::vector<IslandClass> classes;
  for (const Island& island : islands) {
    const auto equal = std::find_if(
        classes.begin(), classes.end(), [&](const IslandClass& other) {
          const int first = other.islands.front();
          return merge_equal && islands[first].spec == island.spec &&
                 rules.IsUsable(first) == rules.IsUsable(island.id);
        });
    if (equal != classes.end()) {
      equal->islands.push_back(island.id);
    } else {
      classes.push_back({{island.id}});
    }
  }
  return classes;
}

// Returns SearchSpace::first_alike. Islands that pins tell apart are not alike.
std::vector<int> AlikeByRules(const SearchSpace& space,
                              const Cluster& cluster) {
  std::vector<int> first_alike = FirstAlike(cluster, space.islands);
  const auto is_alike = [&](int a, int b) {
    return space.class_of_island[a] == space.class_of_island[b] &&
           (space.rules.kept_off.empty() ||
            space.rules.kept_off[a] == space.rules.kept_off[b]);
  };
  const std::vector<int> by_cluster = first_alike;
  for (int island = 0; island < space.num_islands(); ++island) {
    int& first = first_alike[island];
    while (by_cluster[first] != by_cluster[island] ||
           !is_alike(first, island)) {
      ++first;
    }
  }
  return first_alike;
}

// Returns whether some GPU of a usable island has more memory than its island
// counts.
bool HidesMemory(const SearchSpace& space, const Cluster& cluster) {
  return absl::c_any_of(space.islands, [&](const Island& island) {
    return space.rules.IsUsable(island.id) &&
           absl::c_any_of(island.nodes, [&](int node) {
             return cluster.nodes[node].device.memory_bytes >
                    island.spec.device.memory_bytes;
           });
  });
}

// Appends a copy of every island with the limits on the ends of the model.
void AddIslandsOfEnds(const StageLimits& ends,
                      std::vector<IslandSpec>& islands) {
  const size_t num_classes = islands.size();
  for (size_t i = 0; i < num_classes; ++i) {
    IslandSpec of_ends = islands[i];
    JoinLimits(ends, of_ends);
    islands.push_back(std::move(of_ends));
  }
}

// Returns the answers to `queries`, asked at most kMaxBatchQueries at a time.
absl::StatusOr<std::vector<PerformanceProfile>> AskProfiles(
    const PairContext& context, absl::Span<const ProfileQuery> queries,
    SlicePlanSource& source, PlanObserver& observer) {
  std::vector<PerformanceProfile> profiles;
  profiles.reserve(queries.size());
  while (profiles.size() < queries.size()) {
    if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<PerformanceProfile> some,
        source.Profile(context,
                       queries.subspan(profiles.size(), kMaxBatchQueries)));
    profiles.insert(profiles.end(), some.begin(), some.end());
  }
  return profiles;
}

// Returns the most GPUs of one stage on the island: those that its limits ask
// for, or all.
int MostStageGpus(const IslandSpec& island) {
  const StageLimits& limits = island.limits;
  const int64_t asked_for =
      limits.gpus_per_stage > 0
          ? limits.gpus_per_stage
          : int64_t{limits.tp_degree} * limits.cp_degree * limits.dp_degree;
  if (asked_for == 0) return island.num_gpus();
  return static_cast<int>(std::min<int64_t>(asked_for, island.num_gpus()));
}

// Returns the number of stages into which a pipeline of `rules` can cut the
// atom: one more than there are cuts inside it.
int MostStages(const ModelSlice& atom, const PipelineRules& rules) {
  const Runtime::Cuts cuts = rules.runtime == nullptr
                                 ? Runtime::Cuts::kOperators
                                 : rules.runtime->cuts;
  int stages = 0;
  for (const LayerRun& run : atom.runs) {
    const auto num_ops = static_cast<int>(OperatorsOf(run.layer).size());
    for (int op = 0; op < num_ops; ++op) {
      const bool can_begin =
          op == 0 || cuts == Runtime::Cuts::kOperators ||
          (cuts == Runtime::Cuts::kResiduals && IsResidualCut(run.layer, op));
      stages += can_begin ? run.count : 0;
    }
  }
  return stages;
}

// Returns the work bounds of each microbatch size, from profiles of every
// distinct atom on every island class.
absl::StatusOr<std::vector<WorkBounds>> ProfileBounds(
    const SearchSpace& space, const PipelineRules& rules,
    SlicePlanSource& source, PlanObserver& observer) {
  const int num_atoms = space.num_atoms();
  std::vector<int> atom_class(num_atoms);
  std::vector<int> distinct;
  for (int a = 0; a < num_atoms; ++a) {
    atom_class[a] = space.slices.ClassOf({a, a + 1});
    distinct.push_back(atom_class[a]);
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());

  std::vector<ProfileQuery> queries;
  for (const int size : space.microbatch_sizes) {
    for (size_t island = 0; island < space.island_classes.size(); ++island) {
      for (const int atom : distinct) {
        queries.push_back({.slice = atom,
                           .island = static_cast<int>(island),
                           .pipeline_microbatch_size = size});
      }
    }
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<PerformanceProfile> answers,
      AskProfiles(space.context, queries, source, observer));

  std::vector<IslandCapacity> capacities;
  for (const Island& island : space.islands) {
    const DeviceSpec& device = island.spec.device;
    const int gpus =
        space.rules.IsUsable(island.id) ? island.spec.num_gpus() : 0;
    capacities.push_back(
        {.num_gpus = gpus,
         .usable_bytes =
             gpus * (device.memory_bytes - device.efficiency.reserved_bytes),
         .most_stage_gpus = std::min(MostStageGpus(island.spec), gpus)});
  }
  std::vector<int> most_stages;
  for (const ModelSlice& atom : space.atoms) {
    most_stages.push_back(MostStages(atom, rules));
  }
  const size_t num_distinct = distinct.size();
  std::vector<WorkBounds> bounds;
  for (size_t m = 0; m < space.microbatch_sizes.size(); ++m) {
    if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
    std::vector<std::vector<PerformanceProfile>> profiles(space.num_islands());
    for (int i = 0; i < space.num_islands(); ++i) {
      const size_t first =
          (m * space.island_classes.size() + space.class_of_island[i]) *
          num_distinct;
      for (int a = 0; a < num_atoms; ++a) {
        const auto it =
            std::lower_bound(distinct.begin(), distinct.end(), atom_class[a]);
        profiles[i].push_back(answers[first + (it - distinct.begin())]);
      }
    }
    // B microbatches in v chunks take  B·slowest + (latency − slowest) / v,
    // which is the closed form of v·B microbatches, divided by v.
    bounds.emplace_back(
        capacities, profiles, most_stages,
        rules.chunks * (space.context.training.global_batch_size /
                        space.microbatch_sizes[m]));
  }
  return bounds;
}

}  // namespace

uint32_t SearchSpace::AlikeTo(int island) const {
  uint32_t alike = 0;
  for (int other = 0; other < num_islands(); ++other) {
    if (first_alike[other] == first_alike[island])
      alike |= uint32_t{1} << other;
  }
  return alike;
}

// Islands that a pipeline with slice [b, e) needs: one for the slice, one if
// atoms come before it and one if atoms follow it.
bool SearchSpace::HasPosition(int slice_class) const {
  for (const AtomRange& range : slices.MembersOf(slice_class)) {
    const int islands_needed =
        1 + (range.begin > 0 ? 1 : 0) + (range.end < num_atoms() ? 1 : 0);
    if (islands_needed <= num_islands()) return true;
  }
  return false;
}

bool SearchSpace::Allows(const PairId& pair) const {
  for (const AtomRange& range : slices.MembersOf(pair.slice_class)) {
    for (const int island : island_classes[pair.island_class].islands) {
      if (Allows(range, island)) return true;
    }
  }
  return false;
}

int SearchSpace::ContextIslandOf(const PairId& pair) const {
  const size_t num_classes = island_classes.size();
  if (context.islands.size() == num_classes) return pair.island_class;
  for (const AtomRange& range : slices.MembersOf(pair.slice_class)) {
    if (range.begin == 0 || range.end == num_atoms()) {
      return pair.island_class + static_cast<int>(num_classes);
    }
  }
  return pair.island_class;
}

int SearchSpace::LeastTrailingStages(int slice_class) const {
  for (const AtomRange& range : slices.MembersOf(slice_class)) {
    if (range.end == num_atoms()) return 0;
  }
  return 1;
}

double SearchSpace::PairIterationSeconds(const PairId& pair) const {
  return bounds[pair.microbatch].PairIterationSeconds(
      slices.MembersOf(pair.slice_class).front(),
      island_classes[pair.island_class].islands.front());
}

bool SearchSpace::ExceedsMemory(const PairId& pair) const {
  return bounds[pair.microbatch].ExceedsMemory(
      slices.MembersOf(pair.slice_class).front(),
      island_classes[pair.island_class].islands.front());
}

absl::StatusOr<IslandSet> IslandsOf(const PlanRequest& request,
                                    const TangramOptions& options,
                                    const std::function<bool()>& should_stop) {
  if (request.cluster->nodes.empty()) {
    return absl::InvalidArgumentError("cluster.nodes: none; expected a node");
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> left_out,
                           ExcludedNodes(request.constraints, request.cluster));
  TANGRAM_ASSIGN_OR_RETURN(
      IslandSet set, BuildIslands(request.cluster, request.training.precision,
                                  options.tolerances, left_out,
                                  {.marks = ConstraintMarks(request.constraints,
                                                            request.cluster),
                                   .should_stop = should_stop}));
  if (!options.split.empty()) {
    set.islands = SplitIslands(request.cluster, set.islands, options.split);
  }
  return set;
}

absl::StatusOr<SearchSpace> BuildSearchSpace(const PlanRequest& request,
                                             const TangramOptions& options,
                                             const PipelineRules& rules,
                                             SlicePlanSource& source,
                                             PlanObserver& observer) {
  TANGRAM_RETURN_IF_ERROR(EstimateCost(request, options).status());
  TANGRAM_ASSIGN_OR_RETURN(std::vector<int> microbatch_sizes,
                           MicrobatchSizes(request));
  observer.OnPhase(PlanPhase::kIslands);
  TANGRAM_ASSIGN_OR_RETURN(IslandSet set, IslandsOf(request, options, [&] {
                             return observer.ShouldStop();
                           }));
  std::vector<Island> islands = std::move(set.islands);
  TANGRAM_ASSIGN_OR_RETURN(IslandRules island_rules,
                           LimitIslands(request, rules, islands));

  std::vector<IslandClass> island_classes =
      ClassesOf(islands, island_rules, options.pruning.redundancy);

  observer.OnPhase(PlanPhase::kProfiling);
  TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> atoms,
                           source.SliceModel(request.model));
  const AtomGroups grouped = GroupAtoms(
      OutlinesOf(atoms), options.pruning.redundancy,
      static_cast<int64_t>(island_classes.size() * microbatch_sizes.size()));
  const size_t num_cut = atoms.size();
  TANGRAM_ASSIGN_OR_RETURN(
      atoms, JoinGroups(std::move(atoms), grouped.groups, source, observer));
  SliceTable slices(atoms, options.pruning.redundancy);
  SearchSpace space{.islands = std::move(islands),
                    .rules = std::move(island_rules),
                    .island_classes = std::move(island_classes),
                    .atoms = std::move(atoms),
                    .slices = std::move(slices),
                    .microbatch_sizes = std::move(microbatch_sizes),
                    .notes = std::move(set.notes)};
  space.merges_islands = set.merged;
  if (space.merges_islands) {
    space.limits.push_back(
        "unlike islands were merged, so every GPU counts as the weakest of its "
        "island: --exclude-node leaves fewer islands");
  } else if (HidesMemory(space, request.cluster)) {
    space.limits.push_back(
        "GPUs of one island count as the smallest of them: --memory-tolerance "
        "0 "
        "tells them apart");
  }
  if (grouped.atoms_per_group > 1) {
    space.limits.push_back(absl::StrCat(
        "stages begin and end only between groups of ", grouped.atoms_per_group,
        " atoms: --microbatch, which leaves one size to try, may allow smaller "
        "groups"));
    space.notes.push_back(absl::StrCat(
        "the model has ", num_cut, " atoms: planned in ", space.num_atoms(),
        " groups of up to ", grouped.atoms_per_group,
        ", so stages begin and end only between groups"));
  }
  space.class_of_island.resize(space.islands.size());
  space.context.training = request.training;
  for (size_t c = 0; c < space.island_classes.size(); ++c) {
    for (const int island : space.island_classes[c].islands) {
      space.class_of_island[island] = static_cast<int>(c);
    }
    space.context.islands.push_back(
        space.islands[space.island_classes[c].islands.front()].spec);
  }
  space.first_alike = AlikeByRules(space, request.cluster);
  if (!rules.ends.none()) AddIslandsOfEnds(rules.ends, space.context.islands);
  space.first_layer.push_back(0);
  for (const ModelSlice& atom : space.atoms) {
    space.first_layer.push_back(space.first_layer.back() + atom.num_layers());
  }
  TANGRAM_ASSIGN_OR_RETURN(
      space.context.slices,
      RepresentativeSlices(space.slices, space.atoms, source, observer));
  TANGRAM_ASSIGN_OR_RETURN(space.bounds,
                           ProfileBounds(space, rules, source, observer));
  return space;
}

}  // namespace tangram
