#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_ENDS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_ENDS_H_

#include <utility>
#include <vector>

#include "common/domain/slice_plan.h"
#include "coordinator/planners/tangram/slice_times.h"

namespace tangram {

// The first and the last stages of all slice plans of one microbatch size, each
// once for an island, and what two of them send one another. Add all, then ask.
// Not thread-safe.
class SliceEnds {
 public:
  // Seconds there and back.
  using Transfers = std::pair<double, double>;

  // `times` must outlive this object.
  SliceEnds(int microbatch, int num_islands, SliceTimes& times)
      : microbatch_(microbatch),
        times_(&times),
        islands_(num_islands),
        exchanges_(static_cast<size_t>(num_islands) * num_islands) {}

  // Numbers of the first and the last stage of a plan among those of its
  // island.
  struct Ends {
    int first = 0;
    int last = 0;
  };
  Ends Add(const SlicePlan& plan, int island);

  // Returns the transfers across the boundary before `atom`, from last stage
  // `last` of one island to first stage `first` of another.
  const Transfers& TransfersOf(int atom, int from_island, int last,
                               int to_island, int first) {
    const Boundary& boundary = BoundaryOf(atom, from_island, to_island);
    return boundary.transfers[last * islands_[to_island].first.size() + first];
  }
  // Returns the least of them, there and back each for itself. Infinite: none.
  const Transfers& LeastTransfers(int atom, int from_island, int to_island) {
    return BoundaryOf(atom, from_island, to_island).least;
  }

  // Returns SliceTimes::ExchangeSeconds of first stage `first` and last stage
  // `last` of two islands.
  double ExchangeSeconds(int first_island, int first, int last_island,
                         int last) {
    std::vector<double>& known =
        exchanges_[first_island * islands_.size() + last_island];
    const std::vector<SliceTimes::EndStage>& firsts =
        islands_[first_island].first;
    const std::vector<SliceTimes::EndStage>& lasts = islands_[last_island].last;
    if (known.empty()) known.assign(firsts.size() * lasts.size(), -1);
    double& seconds = known[last * firsts.size() + first];
    if (seconds < 0) {
      seconds = times_->ExchangeSeconds(firsts[first], lasts[last]);
    }
    return seconds;
  }
  // Returns the least of them with a first stage of island `first_island`.
  // Infinite: there is none.
  double LeastExchangeSeconds(int first_island, int last_island, int last);

 private:
  struct IslandEnds {
    std::vector<SliceTimes::EndStage> first;
    std::vector<SliceTimes::EndStage> last;
  };
  struct Boundary {
    std::vector<Transfers> transfers;  // [last · number of first + first].
    Transfers least;
  };

  const Boundary& BoundaryOf(int atom, int from_island, int to_island);
  Boundary MakeBoundary(int atom, int from_island, int to_island);

  int microbatch_;
  SliceTimes* times_;
  std::vector<IslandEnds> islands_;
  // [atom, the first of those alike][from_island · num_islands + to_island].
  std::vector<std::vector<Boundary>> boundaries_;
  // [first island · num_islands + last island][last · number of first + first];
  // -1: not known yet.
  std::vector<std::vector<double>> exchanges_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_ENDS_H_
