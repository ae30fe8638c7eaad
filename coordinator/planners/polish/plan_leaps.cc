#include "coordinator/planners/polish/plan_leaps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/domain/model_slice.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/polish/plan_moves.h"
#include "coordinator/planners/polish/plan_schedules.h"

namespace tangram {
namespace {

// The degree that changes with the number of GPUs, or against another.
using Degree = int StageParallelism::*;
constexpr Degree kDegrees[] = {&StageParallelism::tp_degree,
                               &StageParallelism::dp_degree,
                               &StageParallelism::cp_degree};

// The microbatch size changes by at most this factor.
constexpr int kMostFactor = 4;

// Stages that change together, in order.
using Group = std::vector<int>;

bool Contains(const Group& group, int stage) {
  return absl::c_linear_search(group, stage);
}

// Stages change alone in plans of at most so many stages and GPUs. Larger plans
// would have many leaps, each of which gains little.
constexpr int kMostStages = 32;
constexpr size_t kMostGpus = 2048;

bool ChangesAlone(const PipelinePlan& plan) {
  size_t num_gpus = 0;
  for (const PlacedStage& stage : plan.stages) num_gpus += stage.gpus.size();
  return plan.num_stages() <= kMostStages && num_gpus <= kMostGpus;
}

Group AllOf(const PipelinePlan& plan) {
  Group all(plan.num_stages());
  absl::c_iota(all, 0);
  return all;
}

// Returns the stages that change together: those of each island, and all. Small
// plans have also each stage alone.
std::vector<Group> GroupsOf(const PipelinePlan& plan) {
  std::set<int> islands;
  Group all = AllOf(plan);
  std::vector<Group> groups;
  if (ChangesAlone(plan)) {
    for (const int s : all) groups.push_back({s});
  }
  for (const int s : all) islands.insert(plan.stages[s].island);
  for (const int island : islands) {
    Group& group = groups.emplace_back();
    absl::c_copy_if(all, std::back_inserter(group),
                    [&](int s) { return plan.stages[s].island == island; });
  }
  groups.push_back(std::move(all));
  return groups;
}

class Leaps {
 public:
  Leaps(const PlanRequest& request, const PipelineRules& rules,
        const PipelinePlan& plan)
      : request_(request),
        rules_(rules),
        plan_(plan),
        runs_(MakeSlice({0, request.model.num_layers()}, request.model.layers)
                  .runs),
        cuts_(CutsOf(request.model, Runtime::Cuts::kLayers)) {}

  // Returns the leaps in which these groups of stages change.
  std::vector<PipelinePlan> Of(const std::vector<Group>& groups) && {
    const PlanConstraints& constraints = request_.constraints;
    const bool keeps_degrees = !constraints.tp_degrees.empty() ||
                               !constraints.dp_degrees.empty() ||
                               !constraints.cp_degrees.empty();
    const bool keeps_stages =
        constraints.pp_degree > 0 || !constraints.max_stages.empty() ||
        !constraints.pins.empty() || rules_.stages.max_stages > 0;
    if (request_.pipeline_microbatch_size == 0) ChangeMicrobatch();
    if (constraints.pins.empty()) SwapIslands();
    if (constraints.pp_degree == 0 && constraints.pins.empty()) LeaveOut();
    for (const bool follows : {false, true}) {
      if (keeps_degrees || (follows && !ShardsExpertsFully())) continue;
      experts_follow_ = follows;
      for (const Group& group : groups) {
        ChangeDegrees(group);
        if (!keeps_stages) Split(group);
        if (constraints.pp_degree == 0 && constraints.pins.empty()) {
          Merge(group);
        }
      }
    }
    return std::move(leaps_);
  }

 private:
  bool IsAllowed(const PipelinePlan& plan) const {
    return absl::c_all_of(plan.stages, [&](const PlacedStage& stage) {
      const bool is_end =
          &stage == &plan.stages.front() || &stage == &plan.stages.back();
      return WhyOutside(rules_.stages, stage.plan, runs_).empty() &&
             (!is_end || WhyOutside(rules_.ends, stage.plan, runs_).empty()) &&
             (rules_.runtime == nullptr ||
              WhyNotRunnable(*rules_.runtime, stage.plan, runs_).empty());
    });
  }

  void Add(PipelinePlan plan) {
    if (plan == plan_ || !IsAllowed(plan)) return;
    if (absl::c_linear_search(leaps_, plan)) return;
    leaps_.push_back(std::move(plan));
  }

  // Adds the plan with other degrees. If replicas double, or halve, it is also
  // added with a microbatch that does, so that each keeps its samples.
  void AddFollowed(PipelinePlan plan) {
    const int before = MostReplicas(plan_);
    const int after = MostReplicas(plan);
    int& size = plan.pipeline_microbatch_size;
    const int followed = after == 2 * before                    ? 2 * size
                         : 2 * after == before && size % 2 == 0 ? size / 2
                                                                : size;
    Add(plan);
    if (request_.pipeline_microbatch_size > 0 || followed == size ||
        request_.training.global_batch_size % followed != 0) {
      return;
    }
    size = followed;
    Add(std::move(plan));
  }

  static int MostReplicas(const PipelinePlan& plan) {
    int most = 1;
    for (const PlacedStage& stage : plan.stages) {
      most = std::max(most, stage.plan.parallelism.dp_degree);
    }
    return most;
  }

  static bool ShardsExpertsFully(const StageParallelism& degrees) {
    return degrees.ep_degree > 1 && degrees.ep_degree == degrees.num_replicas();
  }

  bool ShardsExpertsFully() const {
    return absl::c_any_of(plan_.stages, [](const PlacedStage& stage) {
      return ShardsExpertsFully(stage.plan.parallelism);
    });
  }

  // Lets what depends on the degrees follow them.
  void Adapt(const StageParallelism& before, StageParallelism& degrees) const {
    const int replicas = degrees.num_replicas();
    degrees.ep_degree = experts_follow_ && ShardsExpertsFully(before)
                            ? replicas
                            : std::gcd(degrees.ep_degree, replicas);
    if (degrees.ep_degree == 1) degrees.fsep = false;
    SetZero(limits_, ZeroStageWithin(limits_, degrees, degrees.zero_stage),
            degrees);
    if (degrees.tp_degree % degrees.tp_y_degree != 0) degrees.tp_y_degree = 1;
    if (degrees.tp_degree == 1) {
      degrees.sequence_parallel = false;
    } else if (before.tp_degree == 1) {
      degrees.sequence_parallel =
          !rules_.stages.no_sequence_parallel &&
          (rules_.runtime == nullptr || rules_.runtime->sequence_parallel);
    }
  }

  // Tries the divisors of the batch around the present size.
  void ChangeMicrobatch() {
    const int size = plan_.pipeline_microbatch_size;
    for (const int changed : DivisorsOf(request_.training.global_batch_size)) {
      if (changed * kMostFactor < size || changed > size * kMostFactor) {
        continue;
      }
      PipelinePlan plan = plan_;
      plan.pipeline_microbatch_size = changed;
      Add(std::move(plan));
    }
  }

  // Swaps two neighbouring runs of stages on one island each. The stages keep
  // their numbers of layers.
  void SwapIslands() {
    std::vector<Group> runs;
    for (int s = 0; s < plan_.num_stages(); ++s) {
      if (s == 0 || plan_.stages[s].island != plan_.stages[s - 1].island) {
        runs.emplace_back();
      }
      runs.back().push_back(s);
    }
    for (size_t r = 0; r + 1 < runs.size(); ++r) {
      std::vector<Group> swapped = runs;
      std::swap(swapped[r], swapped[r + 1]);
      AddInOrder(swapped);
    }
    absl::c_reverse(runs);
    AddInOrder(runs);
  }

  // Adds the plan with the stages in another order.
  void AddInOrder(const std::vector<Group>& order) {
    PipelinePlan plan = plan_;
    plan.stages.clear();
    int next = 0;  // The layer where the next stage begins.
    for (const Group& group : order) {
      for (const int s : group) {
        PlacedStage& stage = plan.stages.emplace_back(plan_.stages[s]);
        const int layers = stage.plan.end.layer - stage.plan.begin.layer;
        const bool is_last = plan.num_stages() == plan_.num_stages();
        const int end = is_last ? request_.model.num_layers() : next + layers;
        if (end <= next) return;
        SetCuts({next, 0}, {end, 0}, stage.plan);
        next = end;
      }
    }
    Add(std::move(plan));
  }

  // Leaves out a stage of each island, that with the fewest layers, or all
  // stages on one of its nodes likewise, as launchers want as many GPUs on each
  // node. The others share their layers evenly. Where stages have few layers,
  // or microbatches are few, a shorter pipeline may be faster.
  void LeaveOut() {
    std::map<int, Group> of_island;
    std::map<int, std::map<int, Group>> of_node;  // By island.
    for (int s = 0; s < plan_.num_stages(); ++s) {
      const PlacedStage& stage = plan_.stages[s];
      of_island[stage.island].push_back(s);
      of_node[stage.island][stage.gpus.front().node].push_back(s);
    }
    for (const auto& [island, stages] : of_island) {
      const int least = *absl::c_min_element(
          stages, [&](int a, int b) { return LayersOf({a}) < LayersOf({b}); });
      AddWithout({least}, stages.size());
      const auto& [node, on_node] = *absl::c_min_element(
          of_node[island], [&](const auto& a, const auto& b) {
            return LayersOf(a.second) < LayersOf(b.second);
          });
      AddWithout(on_node, stages.size());
    }
  }

  int LayersOf(const Group& stages) const {
    int layers = 0;
    for (const int s : stages) {
      const StagePlan& stage = plan_.stages[s].plan;
      layers += stage.end.layer - stage.begin.layer;
    }
    return layers;
  }

  // Adds the plan without some of the stages of an island. It stays in use, no
  // stage may have no layer, and the runtime must take the number of GPUs.
  void AddWithout(const Group& left_out, size_t num_on_island) {
    if (left_out.size() == num_on_island) return;
    const int num_layers = request_.model.num_layers();
    const int num_kept = num_layers - LayersOf(left_out);
    PipelinePlan plan = plan_;
    plan.stages.clear();
    int num_gpus = 0;
    int kept = 0;  // Layers of the stages so far in `plan_`.
    int begin = 0;
    for (int s = 0; s < plan_.num_stages(); ++s) {
      if (Contains(left_out, s)) continue;
      PlacedStage& stage = plan.stages.emplace_back(plan_.stages[s]);
      num_gpus += static_cast<int>(stage.gpus.size());
      kept += LayersOf({s});
      const int end = kept * num_layers / std::max(1, num_kept);
      if (end <= begin) return;
      SetCuts({begin, 0}, {end, 0}, stage.plan);
      begin = end;
    }
    if (rules_.accepts_gpus && !rules_.accepts_gpus(num_gpus)) return;
    Add(std::move(plan));
  }

  void ChangeDegrees(const Group& group) {
    for (const Degree more : kDegrees) {
      for (const Degree less : kDegrees) {
        if (more == less) continue;
        PipelinePlan plan = plan_;
        for (const int s : group) {
          StageParallelism& degrees = plan.stages[s].plan.parallelism;
          if (degrees.*less % 2 != 0) continue;
          const StageParallelism before = degrees;
          degrees.*less /= 2;
          degrees.*more *= 2;
          Adapt(before, degrees);
        }
        AddFollowed(std::move(plan));
      }
    }
    PipelinePlan plan = plan_;
    for (const bool more : {false, true}) {
      plan = plan_;
      for (const int s : group) {
        StageParallelism& degrees = plan.stages[s].plan.parallelism;
        if (more) {
          degrees.ep_degree *= 2;
        } else if (degrees.ep_degree % 2 == 0) {
          degrees.ep_degree /= 2;
        }
      }
      Add(plan);
    }
    plan = plan_;
    for (const int s : group) {
      StageParallelism& degrees = plan.stages[s].plan.parallelism;
      if (degrees.ep_degree > 1) degrees.fsep = !degrees.fsep;
    }
    Add(std::move(plan));
  }

  void Split(const Group& group) {
    for (const Degree degree : kDegrees) {
      std::optional<PipelinePlan> plan = SplitPlan(group, degree);
      if (plan.has_value()) AddFollowed(*std::move(plan));
    }
  }

  void Merge(const Group& group) {
    for (const Degree degree : kDegrees) {
      std::optional<PipelinePlan> plan = MergedPlan(group, degree);
      if (plan.has_value()) AddFollowed(*std::move(plan));
    }
    if (group.size() != 1 || group.front() + 1 >= plan_.num_stages()) return;
    const Group pair = {group.front(), group.front() + 1};
    for (const Degree degree : kDegrees) {
      std::optional<PipelinePlan> plan = MergedPlan(pair, degree);
      if (plan.has_value()) AddFollowed(*std::move(plan));
    }
  }

  // Returns the plan with two stages for each of the group, on half of its GPUs
  // and with half of its layers each.
  std::optional<PipelinePlan> SplitPlan(const Group& group,
                                        Degree degree) const {
    PipelinePlan plan = plan_;
    plan.stages.clear();
    for (int s = 0; s < plan_.num_stages(); ++s) {
      const PlacedStage& stage = plan_.stages[s];
      plan.stages.push_back(stage);
      if (!Contains(group, s) || stage.plan.parallelism.*degree % 2 != 0) {
        continue;
      }
      const std::optional<OperatorCut> middle = MiddleOf(stage.plan);
      if (!middle.has_value()) continue;
      PlacedStage& first = plan.stages.back();
      StageParallelism& degrees = first.plan.parallelism;
      degrees.*degree /= 2;
      Adapt(stage.plan.parallelism, degrees);
      PlacedStage second = first;
      const auto half = stage.gpus.begin() +
                        static_cast<std::ptrdiff_t>(stage.gpus.size() / 2);
      first.gpus.assign(stage.gpus.begin(), half);
      second.gpus.assign(half, stage.gpus.end());
      SetCuts(stage.plan.begin, *middle, first.plan);
      SetCuts(*middle, stage.plan.end, second.plan);
      plan.stages.push_back(std::move(second));
    }
    if (plan.num_stages() == plan_.num_stages()) return std::nullopt;
    return plan;
  }

  // Returns the plan with one stage for each two neighbours of the group that
  // are alike.
  std::optional<PipelinePlan> MergedPlan(const Group& group,
                                         Degree degree) const {
    PipelinePlan plan = plan_;
    plan.stages.clear();
    for (int s = 0; s < plan_.num_stages(); ++s) {
      plan.stages.push_back(plan_.stages[s]);
      if (s + 1 >= plan_.num_stages()) break;
      const PlacedStage& next = plan_.stages[s + 1];
      PlacedStage& merged = plan.stages.back();
      StageParallelism& degrees = merged.plan.parallelism;
      const StageParallelism before = degrees;
      if (!Contains(group, s) || !Contains(group, s + 1) ||
          merged.island != next.island || before != next.plan.parallelism) {
        continue;
      }
      degrees.*degree *= 2;
      Adapt(before, degrees);
      merged.gpus.insert(merged.gpus.end(), next.gpus.begin(), next.gpus.end());
      SetCuts(merged.plan.begin, next.plan.end, merged.plan);
      ++s;
    }
    if (plan.num_stages() == plan_.num_stages()) return std::nullopt;
    return plan;
  }

  // Returns the border between layers nearest to the middle of the stage.
  // Empty: there is none inside.
  std::optional<OperatorCut> MiddleOf(const StagePlan& stage) const {
    const auto begin = absl::c_upper_bound(cuts_, stage.begin);
    const auto end = absl::c_lower_bound(cuts_, stage.end);
    if (begin >= end) return std::nullopt;
    return *(begin + (end - begin) / 2);
  }

  static void SetCuts(OperatorCut begin, OperatorCut end, StagePlan& stage) {
    stage.begin = begin;
    stage.end = end;
    stage.recompute = {{.num_layers = LayersTouched(begin, end)}};
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const StageLimits limits_ = LimitsOfAllStages(request_.constraints);
  const PipelinePlan& plan_;
  const std::vector<LayerRun> runs_;
  const std::vector<OperatorCut> cuts_;
  // Whether experts that all replicas of a stage share stay so if there are
  // more. Else as many replicas share them as before.
  bool experts_follow_ = false;
  std::vector<PipelinePlan> leaps_;
};

// Leaps to plans in chunks.
class LeapsInChunks {
 public:
  LeapsInChunks(const PlanRequest& request, const PipelineRules& rules,
                const PipelinePlan& plan)
      : request_(request),
        rules_(rules),
        plan_(plan),
        chunks_(plan.virtual_stages),
        keeps_chunks_(request.constraints.virtual_stages > 0),
        devices_(WithoutChunks(plan)) {}

  // Other chunks on the devices, or one more or less, or all devices change
  // alike.
  std::vector<PipelinePlan> All() && {
    for (const int more : {-1, 0, 1}) {
      if (more == 0 || !keeps_chunks_) Add(chunks_ + more, devices_);
    }
    for (PipelinePlan& other :
         Leaps(request_, rules_, devices_).Of({AllOf(devices_)})) {
      for (const int size : SizesOf(other)) {
        other.pipeline_microbatch_size = size;
        AddAll(other);
      }
    }
    return std::move(leaps_);
  }

 private:
  // Returns the microbatch sizes that are tried after a leap. Those that change
  // with the degrees keep the samples of a GPU, or the number of microbatches
  // for each stage.
  std::vector<int> SizesOf(const PipelinePlan& leap) const {
    const int size = leap.pipeline_microbatch_size;
    std::vector<int> sizes = {size};
    if (request_.pipeline_microbatch_size > 0 ||
        size != devices_.pipeline_microbatch_size) {
      return sizes;
    }
    if (size % 2 == 0) sizes.push_back(size / 2);
    if (request_.training.global_batch_size % (2 * size) == 0) {
      sizes.push_back(2 * size);
    }
    return sizes;
  }

  void AddAll(const PipelinePlan& devices) {
    std::set<int> counts = {chunks_};
    if (!keeps_chunks_) {
      for (const int chunks : ChunkCounts(request_.model, devices)) {
        counts.insert(chunks);
      }
    }
    for (const int chunks : counts) Add(chunks, devices);
  }

  // Stages divide the microbatches. A single one has no chunks.
  void Add(int chunks, const PipelinePlan& devices) {
    const int num_stages = devices.num_stages();
    if (num_stages == 1) {
      if (!absl::c_linear_search(leaps_, devices)) leaps_.push_back(devices);
      return;
    }
    const int num_microbatches =
        request_.training.global_batch_size / devices.pipeline_microbatch_size;
    if (chunks == 1 || num_microbatches % num_stages != 0) {
      return;
    }
    for (PipelinePlan& leap :
         AllInterleaved(request_.model, FinestCuts(rules_), chunks, devices)) {
      if (leap == plan_ || absl::c_linear_search(leaps_, leap)) continue;
      leaps_.push_back(std::move(leap));
    }
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const PipelinePlan& plan_;
  const int chunks_;
  const bool keeps_chunks_;
  const PipelinePlan devices_;
  std::vector<PipelinePlan> leaps_;
};

}  // namespace

std::vector<PipelinePlan> LeapsFrom(const PlanRequest& request,
                                    const PipelineRules& rules,
                                    const PipelinePlan& plan) {
  if (!plan.warm_up_passes.empty()) return {};
  if (plan.virtual_stages > 1) {
    return LeapsInChunks(request, rules, plan).All();
  }
  return Leaps(request, rules, plan).Of(GroupsOf(plan));
}

}  // namespace tangram
