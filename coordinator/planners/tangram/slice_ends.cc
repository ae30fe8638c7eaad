#include "coordinator/planners/tangram/slice_ends.h"

#include <algorithm>

#include "common/base/infinity.h"

namespace tangram {
namespace {

using EndStage = SliceTimes::EndStage;

EndStage EndOf(const SliceStage& stage, int island, int first_gpu) {
  const StageParallelism& parallelism = stage.plan.parallelism;
  return {.island = island,
          .first_gpu = first_gpu,
          .num_gpus = parallelism.num_gpus(),
          .replicas = parallelism.dp_degree * parallelism.cp_degree};
}

// Returns the index of `stage` in `stages`, to which it is added if it is new.
int IndexOf(const EndStage& stage, std::vector<EndStage>& stages) {
  const auto known = std::find(stages.begin(), stages.end(), stage);
  const auto index = static_cast<int>(known - stages.begin());
  if (known == stages.end()) stages.push_back(stage);
  return index;
}

}  // namespace

SliceEnds::Ends SliceEnds::Add(const SlicePlan& plan, int island) {
  int first_gpu = 0;  // The last stage's.
  for (size_t stage = 0; stage + 1 < plan.stages.size(); ++stage) {
    first_gpu += plan.stages[stage].plan.parallelism.num_gpus();
  }
  return {.first = IndexOf(EndOf(plan.stages.front(), island, 0),
                           islands_[island].first),
          .last = IndexOf(EndOf(plan.stages.back(), island, first_gpu),
                          islands_[island].last)};
}

double SliceEnds::LeastExchangeSeconds(int first_island, int last_island,
                                       int last) {
  double least_s = kInfinity;
  const auto num_first = static_cast<int>(islands_[first_island].first.size());
  for (int f = 0; f < num_first; ++f) {
    least_s =
        std::min(least_s, ExchangeSeconds(first_island, f, last_island, last));
  }
  return least_s;
}

const SliceEnds::Boundary& SliceEnds::BoundaryOf(int atom, int from_island,
                                                 int to_island) {
  const size_t num_islands = islands_.size();
  const size_t first = times_->FirstAlike(atom);
  if (first >= boundaries_.size()) boundaries_.resize(first + 1);
  std::vector<Boundary>& boundaries = boundaries_[first];
  if (boundaries.empty()) boundaries.resize(num_islands * num_islands);
  Boundary& boundary = boundaries[from_island * num_islands + to_island];
  const bool is_known =
      boundary.transfers.size() ==
      islands_[from_island].last.size() * islands_[to_island].first.size();
  if (!is_known) boundary = MakeBoundary(atom, from_island, to_island);
  return boundary;
}

SliceEnds::Boundary SliceEnds::MakeBoundary(int atom, int from_island,
                                            int to_island) {
  Boundary boundary{.least = {kInfinity, kInfinity}};
  for (const EndStage& last : islands_[from_island].last) {
    for (const EndStage& first : islands_[to_island].first) {
      StageTimes times;
      times_->SetTransfers({.microbatch = microbatch_,
                            .atom = atom,
                            .from_island = from_island,
                            .from_gpu = last.first_gpu,
                            .from_count = last.num_gpus,
                            .to_island = to_island,
                            .to_count = first.num_gpus},
                           times);
      auto& [there_s, back_s] = boundary.least;
      there_s = std::min(there_s, times.send_forward_s);
      back_s = std::min(back_s, times.send_backward_s);
      boundary.transfers.emplace_back(times.send_forward_s,
                                      times.send_backward_s);
    }
  }
  return boundary;
}

}  // namespace tangram
