#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "coordinator/planners/anneal/moves.h"
#include "coordinator/planners/anneal/scope.h"
#include "coordinator/planners/anneal/spread.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"

// Chunks of the interleaved schedule share GPUs, so these moves need plans
// without.
namespace tangram::anneal {
namespace {

using Stages = std::vector<PlacedStage>;

bool OnOneIsland(const PlacedStage& a, const PlacedStage& b) {
  return a.island == b.island;
}

// Returns the unused GPUs of an island, in order.
std::vector<GpuId> FreeGpus(const MoveContext& context,
                            const PipelinePlan& plan, int island) {
  std::set<GpuId> used;
  for (const PlacedStage& stage : plan.stages) {
    used.insert(stage.gpus.begin(), stage.gpus.end());
  }
  std::vector<GpuId> free;
  for (const Island& candidate : context.problem.islands) {
    if (candidate.id != island) continue;
    for (const int node : candidate.nodes) {
      const int num_gpus =
          context.problem.request.cluster->nodes[node].num_gpus;
      for (int index = 0; index < num_gpus; ++index) {
        if (!used.contains({node, index})) free.push_back({node, index});
      }
    }
  }
  return free;
}

// Puts the stage on these GPUs, with degrees like its own or drawn.
void PutOn(const MoveContext& context, std::vector<GpuId> gpus,
           PlacedStage& stage) {
  stage.gpus = std::move(gpus);
  const int num_gpus = static_cast<int>(stage.gpus.size());
  SetDegrees(context.draw.OneIn(2) ? stage.plan.parallelism
                                   : DrawDegrees(context, num_gpus),
             stage);
}

// Draws a number of GPUs in [1, most] near `now`.
int DrawGpus(const MoveContext& context, const PlacedStage& stage, int most) {
  const int now = static_cast<int>(stage.gpus.size());
  const int node =
      context.problem.request.cluster->nodes[stage.gpus.front().node].num_gpus;
  return std::clamp(context.draw.Of(std::vector<int>{
                        now / 2, 2 * now, now - 1, now + 1, now - node,
                        now + node, most, 1 + context.draw.Below(most)}),
                    1, most);
}

std::vector<GpuId> GpusOf(const Stages& stages, int first, int last) {
  std::vector<GpuId> gpus;
  for (int s = first; s < last; ++s) {
    gpus.insert(gpus.end(), stages[s].gpus.begin(), stages[s].gpus.end());
  }
  return gpus;
}

// Moves GPUs between two neighbouring stages of an island.
bool GiveGpus(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1 || plan.num_stages() < 2) return false;
  const int first = context.draw.Below(plan.num_stages() - 1);
  PlacedStage& a = plan.stages[first];
  PlacedStage& b = plan.stages[first + 1];
  if (!OnOneIsland(a, b)) return false;
  std::vector<GpuId> gpus = GpusOf(plan.stages, first, first + 2);
  absl::c_sort(gpus);
  const int num_first = DrawGpus(context, a, static_cast<int>(gpus.size()) - 1);
  if (num_first == static_cast<int>(a.gpus.size())) return false;
  PutOn(context, {gpus.begin(), gpus.begin() + num_first}, a);
  PutOn(context, {gpus.begin() + num_first, gpus.end()}, b);
  return Spread(context, first, first + 2, a.plan.begin, b.plan.end, plan);
}

// Gives a stage more unused GPUs of its island, or fewer.
bool ResizeStage(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1) return false;
  PlacedStage& stage = plan.stages[context.draw.Below(plan.num_stages())];
  const std::vector<GpuId> free = FreeGpus(context, plan, stage.island);
  std::vector<GpuId> gpus = stage.gpus;
  gpus.insert(gpus.end(), free.begin(), free.end());
  const int most = static_cast<int>(gpus.size());
  const int num_gpus = DrawGpus(context, stage, most);
  if (num_gpus == static_cast<int>(stage.gpus.size())) return false;
  gpus.resize(num_gpus);
  absl::c_sort(gpus);
  PutOn(context, std::move(gpus), stage);
  return context.draw.OneIn(2) || SpreadAll(context, plan);
}

// Joins stage `first` and the next.
void Join(const MoveContext& context, int first, PipelinePlan& plan) {
  PlacedStage& a = plan.stages[first];
  const OperatorCut end = plan.stages[first + 1].plan.end;
  const OpMask mask =
      context.draw.OneIn(2) ? MainMask(a.plan) : DrawMask(context, plan);
  PutOn(context, GpusOf(plan.stages, first, first + 2), a);
  Cover(context.problem.request.model, a.plan.begin, end, mask, a.plan);
  plan.stages.erase(plan.stages.begin() + first + 1);
}

// Merges two neighbouring stages of an island, or all its pairs.
bool MergeStages(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1 || plan.num_stages() < 2) return false;
  const int first = context.draw.Below(plan.num_stages() - 1);
  if (!OnOneIsland(plan.stages[first], plan.stages[first + 1])) return false;
  plan.warm_up_passes.clear();
  const int island = plan.stages[first].island;
  Join(context, first, plan);
  if (!context.draw.OneIn(3)) return true;
  for (int s = 0; s + 1 < plan.num_stages(); ++s) {
    if (s == first || plan.stages[s].island != island) continue;
    if (s + 1 != first && plan.stages[s + 1].island == island) {
      Join(context, s, plan);
    }
  }
  return true;
}

// Splits a stage in two, at a drawn cut. Returns false if it is too small.
bool Halve(const MoveContext& context, int at, PipelinePlan& plan) {
  const Stages& stages = plan.stages;
  const int num_gpus = static_cast<int>(stages[at].gpus.size());
  if (num_gpus < 2) return false;
  const std::vector<GpuId> gpus = stages[at].gpus;
  const int num_first = context.draw.OneIn(3)
                            ? 1 + context.draw.Below(num_gpus - 1)
                            : num_gpus / 2;
  plan.stages.insert(plan.stages.begin() + at, stages[at]);
  const OperatorCut begin = stages[at].plan.begin;
  const OperatorCut end = stages[at].plan.end;
  PutOn(context, {gpus.begin(), gpus.begin() + num_first}, plan.stages[at]);
  PutOn(context, {gpus.begin() + num_first, gpus.end()}, plan.stages[at + 1]);
  return Spread(context, at, at + 2, begin, end, plan);
}

// Splits a stage, or all stages of its island.
bool SplitStages(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1) return false;
  plan.warm_up_passes.clear();
  const int first = context.draw.Below(plan.num_stages());
  const int island = plan.stages[first].island;
  if (!context.draw.OneIn(3)) return Halve(context, first, plan);
  for (int s = plan.num_stages() - 1; s >= 0; --s) {
    if (plan.stages[s].island == island && !Halve(context, s, plan)) {
      return false;
    }
  }
  return true;
}

// Returns the end of the stages of one island from `first` on.
int EndOfRun(const PipelinePlan& plan, int first) {
  int last = first + 1;
  while (last < plan.num_stages() &&
         OnOneIsland(plan.stages[first], plan.stages[last])) {
    ++last;
  }
  return last;
}

int BeginOfRun(const PipelinePlan& plan, int last) {
  int first = last - 1;
  while (first > 0 &&
         OnOneIsland(plan.stages[first - 1], plan.stages[last - 1])) {
    --first;
  }
  return first;
}

// Swaps two neighbouring stages of different islands, or all stages of the two
// islands there, or the GPUs of two stages. The layers are spread again.
bool Reorder(const MoveContext& context, PipelinePlan& plan) {
  const int num_stages = plan.num_stages();
  if (plan.virtual_stages > 1 || num_stages < 2) return false;
  const int border = 1 + context.draw.Below(num_stages - 1);
  const auto begin = plan.stages.begin();
  if (OnOneIsland(plan.stages[border - 1], plan.stages[border])) {
    PlacedStage& other = plan.stages[context.draw.Below(num_stages)];
    if (other.gpus.size() != plan.stages[border].gpus.size()) return false;
    std::swap(other.gpus, plan.stages[border].gpus);
    std::swap(other.island, plan.stages[border].island);
    return true;
  }
  const bool whole = context.draw.OneIn(2);
  const int first = whole ? BeginOfRun(plan, border) : border - 1;
  const int last = whole ? EndOfRun(plan, border) : border + 1;
  std::rotate(begin + first, begin + border, begin + last);
  return SpreadAll(context, plan);
}

// Replaces stages [first, last) by equal ones on these GPUs.
bool Restage(const MoveContext& context, int first, int last, int island,
             const std::vector<GpuId>& gpus, PipelinePlan& plan) {
  const int num_gpus = static_cast<int>(gpus.size());
  const int num_stages = context.draw.Of(DivisorsOf(num_gpus));
  const int width = num_gpus / num_stages;
  const StageParallelism degrees = DrawDegrees(context, width);
  PlacedStage like = plan.stages[std::min(first, plan.num_stages() - 1)];
  like.island = island;
  Stages stages(num_stages, like);
  for (int s = 0; s < num_stages; ++s) {
    stages[s].gpus = {gpus.begin() + s * width, gpus.begin() + (s + 1) * width};
    SetDegrees(degrees, stages[s]);
  }
  plan.warm_up_passes.clear();
  const auto at = plan.stages.erase(plan.stages.begin() + first,
                                    plan.stages.begin() + last);
  plan.stages.insert(at, stages.begin(), stages.end());
  return SpreadAll(context, plan);
}

// Divides the GPUs of neighbouring stages of an island again, half of the time
// with those that are unused.
bool RestageIsland(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1) return false;
  const int last = EndOfRun(plan, context.draw.Below(plan.num_stages()));
  const int first = BeginOfRun(plan, last);
  const int island = plan.stages[first].island;
  std::vector<GpuId> gpus = GpusOf(plan.stages, first, last);
  if (context.draw.OneIn(2)) {
    absl::c_copy(FreeGpus(context, plan, island), std::back_inserter(gpus));
  }
  absl::c_sort(gpus);
  return Restage(context, first, last, island, gpus, plan);
}

bool LeaveOutIsland(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1 || context.problem.keeps_islands) return false;
  const int island = context.draw.Of(plan.stages).island;
  const auto is_there = [island](const PlacedStage& stage) {
    return stage.island == island;
  };
  if (absl::c_all_of(plan.stages, is_there)) return false;
  std::erase_if(plan.stages, is_there);
  plan.warm_up_passes.clear();
  return SpreadAll(context, plan);
}

bool TakeInIsland(const MoveContext& context, PipelinePlan& plan) {
  if (plan.virtual_stages > 1 || context.problem.keeps_islands) return false;
  std::vector<int> unused;
  for (const Island& island : context.problem.islands) {
    if ((context.problem.usable >> island.id & 1) == 0) continue;
    if (absl::c_none_of(plan.stages, [&](const PlacedStage& stage) {
          return stage.island == island.id;
        })) {
      unused.push_back(island.id);
    }
  }
  if (unused.empty()) return false;
  const int island = context.draw.Of(unused);
  std::vector<GpuId> gpus = FreeGpus(context, plan, island);
  if (gpus.empty()) return false;
  const int at = context.draw.Below(plan.num_stages() + 1);
  return Restage(context, at, at, island, gpus, plan);
}

constexpr Move kGpuMoves[] = {{"GPUs of two stages", 4, GiveGpus},
                              {"GPUs of a stage", 2, ResizeStage},
                              {"merge", 3, MergeStages},
                              {"split", 3, SplitStages},
                              {"order", 3, Reorder},
                              {"restage an island", 3, RestageIsland},
                              {"spread", 1, SpreadAll},
                              {"island out", 1, LeaveOutIsland},
                              {"island in", 1, TakeInIsland}};

}  // namespace

absl::Span<const Move> GpuMoves() { return kGpuMoves; }

}  // namespace tangram::anneal
