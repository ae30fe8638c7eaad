#include "coordinator/planners/tangram/measured_latency.h"

#include <algorithm>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"

namespace tangram {
namespace {

double WorkOf(const SearchSpace& space, const PairId& pair) {
  const AtomRange range = space.slices.MembersOf(pair.slice_class).front();
  const WorkBounds& bounds = space.bounds[pair.microbatch];
  return bounds.MeanWork(range.end) - bounds.MeanWork(range.begin);
}

}  // namespace

MeasuredLatency::MeasuredLatency(const SearchSpace& space,
                                 const PairStore& store)
    : space_(&space) {
  const int num_classes = static_cast<int>(space.island_classes.size());
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    std::vector<Rate>& rates = rates_.emplace_back();
    for (int i = 0; i < num_classes; ++i) {
      Rate rate{.island_class = i, .latency_s = kInfinity};
      for (int s = 0; s < space.slices.num_classes(); ++s) {
        const PairId pair{m, s, i};
        const double work = WorkOf(space, pair);
        for (const Candidate& plan : store.CandidatesOf(pair).candidates) {
          rate.latency_s = std::min(rate.latency_s, plan.latency_s / work);
          rate.work_a_second =
              std::max(rate.work_a_second, work / plan.slowest_s);
        }
      }
      if (rate.work_a_second == 0) {
        const int island = space.island_classes[i].islands.front();
        rate.work_a_second = space.bounds[m].Capacity(uint32_t{1} << island);
        rate.latency_s = 1 / rate.work_a_second;
      }
      rates.push_back(rate);
    }
    absl::c_stable_sort(rates, [](const Rate& a, const Rate& b) {
      return a.latency_s < b.latency_s;
    });
  }
}

double MeasuredLatency::RestSeconds(const PairId& pair,
                                    double pipeline_s) const {
  const WorkBounds& bounds = space_->bounds[pair.microbatch];
  const double most_s = pipeline_s / bounds.num_microbatches();
  double left = bounds.MeanWork(space_->num_atoms()) - WorkOf(*space_, pair);
  double seconds = 0;
  for (const Rate& rate : rates_[pair.microbatch]) {
    const size_t count =
        space_->island_classes[rate.island_class].islands.size() -
        (rate.island_class == pair.island_class ? 1 : 0);
    const double work = std::min(
        left, static_cast<double>(count) * rate.work_a_second * most_s);
    if (!(work > 0)) continue;
    seconds += work * rate.latency_s;
    left -= work;
  }
  return seconds;
}

}  // namespace tangram
