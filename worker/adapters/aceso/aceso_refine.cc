#include "worker/adapters/aceso/aceso_refine.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "common/base/infinity.h"
#include "common/base/insert_non_dominated.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Refinements of one configuration; each starts from the cuts of the one
// before. With 2 and with 8, the plans of the paper's C1 and C3 workloads are
// the same.
constexpr int kMaxRounds = 4;
// Residual cuts considered on either side of a cut, besides the two positions
// next to it. With 1 and with 4, the plans of the same workloads are the same.
constexpr int kResidualCutsEachWay = 2;
// A smaller relative gain is rounding.
constexpr double kLeastGain = 1e-9;

// One way to run all stages from one place on.
struct Tail {
  double latency_s = 0;
  double slowest_s = 0;
  double exposed_sync_s = 0;
  int degrees = kNoDegrees;  // Degrees of its first stage.
  int next_place = 0;  // Index of the place at which the next stage begins.
  int next_tail = 0;   // Index of the rest among that place's tails.
};

bool AtLeastAsGood(const Tail& a, const Tail& b) {
  return a.latency_s <= b.latency_s && a.slowest_s <= b.slowest_s &&
         a.exposed_sync_s <= b.exposed_sync_s;
}

// A position at which a stage may begin.
struct Place {
  int position = 0;
  bool reachable = false;   // Whether the stages in front can reach it, judged
                            // by prefix sums.
  std::vector<Tail> tails;  // The non-dominated tails that begin here.
};

// Finds the least score over cuts near the present ones and degrees on the
// present GPUs. With stage times t, gradient synchronisation g and backward
// times b, the score depends on the stages behind a cut only through
//   latency = Σ t_s,  slowest = max t_s,  exposed = max_s (g_s − Σ_{i<s} b_i)⁺
// A stage in front turns these into
//   latency + t,  max(slowest, t),  max(g, exposed − b)
// So a place keeps the tails that no other equals or beats in all three and
// that can still beat the known score.
class Refiner {
 public:
  Refiner(CostTables& tables, Configuration& configuration)
      : tables_(tables),
        layout_(tables.layout()),
        configuration_(configuration),
        stages_(configuration.stages),
        num_stages_(configuration.num_stages()),
        places_(num_stages_ + 1),
        choices_(num_stages_),
        front_s_(num_stages_ + 1, 0) {
    for (int i = 0; i <= num_stages_; ++i) FindPlaces(i);
    for (int i = 0; i < num_stages_; ++i) FindChoices(i);
    for (int i = 0; i < num_stages_; ++i) {
      front_s_[i + 1] =
          front_s_[i] + LeastSeconds(i, places_[i].back().position,
                                     places_[i + 1][0].position);
    }
    if (tables.num_microbatches() > 1) {
      longest_s_ = (configuration.score_s - front_s_.back()) /
                   (tables.num_microbatches() - 1);
    }
    places_[0][0].reachable = true;
    for (int i = 0; i < num_stages_; ++i) MarkReachable(i);
  }

  // Returns whether the configuration changed.
  bool Run() {
    places_.back()[0].tails.push_back({});
    for (int i = num_stages_ - 1; i >= 0; --i) {
      for (Place& place : places_[i]) {
        if (place.reachable) FindTails(i, place);
      }
      if (tables_.poll().stopped()) return false;
    }
    const std::vector<Tail>& all = places_[0][0].tails;
    const auto best = std::min_element(all.begin(), all.end(),
                                       [this](const Tail& a, const Tail& b) {
                                         return ScoreOf(a) < ScoreOf(b);
                                       });
    if (best == all.end() ||
        ScoreOf(*best) >= configuration_.score_s * (1 - kLeastGain)) {
      return false;
    }
    Adopt(*best);
    return true;
  }

 private:
  // Fills the places at which stage `i` may begin: the present cut, its
  // neighbours and the nearest residual cuts.
  void FindPlaces(int i) {
    const int first = stages_.front().shape.begin;
    const int last = stages_.back().shape.end;
    const int cut = i == num_stages_ ? last : stages_[i].shape.begin;
    absl::InlinedVector<int, 8> positions = {cut};
    if (i > 0 && i < num_stages_) {
      positions.push_back(cut - 1);
      positions.push_back(cut + 1);
      int before = cut;
      int after = cut;
      for (int k = 0; k < kResidualCutsEachWay; ++k) {
        before = layout_.ResidualCutBefore(std::max(before - 1, first));
        after = layout_.ResidualCutAfter(std::min(after + 1, last));
        positions.push_back(before);
        positions.push_back(after);
      }
      std::sort(positions.begin(), positions.end());
      positions.erase(std::unique(positions.begin(), positions.end()),
                      positions.end());
    }
    for (const int position : positions) {
      const bool inside = position > first && position < last;
      if (inside || position == cut) {
        places_[i].push_back({.position = position});
      }
    }
  }

  // Fills the degrees that use the stage's number of GPUs.
  void FindChoices(int i) {
    const DegreeSpace& space = tables_.space();
    const int num_gpus = space.num_gpus(stages_[i].shape.degrees);
    for (int d = 0; d < static_cast<int>(space.choices().size()); ++d) {
      if (space.num_gpus(d) == num_gpus) choices_[i].push_back(d);
    }
  }

  // Returns a lower bound on the time of stage `i` over all its degrees: no
  // recomputation, no transfer.
  double LeastSeconds(int i, int begin, int end) const {
    if (begin >= end) return 0;
    double least_s = kInfinity;
    for (const int degrees : choices_[i]) {
      least_s = std::min(least_s, tables_.At(degrees).time_s.Over(
                                      layout_.at(begin), layout_.at(end)));
    }
    return least_s;
  }

  bool MayBeStage(int begin, int end) const {
    return end >= layout_.EarliestEnd(begin);
  }

  // Marks the places that stage `i` can reach without exceeding longest_s_.
  void MarkReachable(int i) {
    for (const Place& from : places_[i]) {
      if (!from.reachable) continue;
      for (Place& to : places_[i + 1]) {
        to.reachable |=
            MayBeStage(from.position, to.position) &&
            LeastSeconds(i, from.position, to.position) <= longest_s_;
      }
    }
  }

  double ScoreOf(const Tail& tail) const {
    return tail.latency_s + (tables_.num_microbatches() - 1) * tail.slowest_s +
           tail.exposed_sync_s;
  }

  // Fills the tails of a place: stage `i` with each end and degrees before each
  // tail of its end.
  void FindTails(int i, Place& place) {
    const std::vector<Place>& next = places_[i + 1];
    for (int k = 0; k < static_cast<int>(next.size()); ++k) {
      if (next[k].tails.empty() ||
          !MayBeStage(place.position, next[k].position)) {
        continue;
      }
      for (const int degrees : choices_[i]) {
        AddTails(i, degrees, k, place);
      }
    }
  }

  void AddTails(int i, int degrees, int next_place, Place& place) {
    const Place& next = places_[i + 1][next_place];
    StageShape shape = stages_[i].shape;
    shape.begin = place.position;
    shape.end = next.position;
    shape.degrees = degrees;
    const double least_s = tables_.At(degrees).time_s.Over(
        layout_.at(shape.begin), layout_.at(shape.end));
    if (least_s > longest_s_) return;
    const StageFigures figures = EstimateFigures(tables_, shape);
    if (!figures.fits) return;
    const double sync_s = SyncSeconds(tables_, shape, figures);
    double time_s = figures.compute_s;
    if (i + 1 < num_stages_) {
      time_s += SendSeconds(
          tables_, PathBetween(tables_, stages_[i], stages_[i + 1]), shape.end);
    }
    for (int k = 0; k < static_cast<int>(next.tails.size()); ++k) {
      // Each tail is compared with all others.
      if (tables_.poll().After(1 + static_cast<int64_t>(place.tails.size()))) {
        return;
      }
      const Tail& behind = next.tails[k];
      Keep({.latency_s = behind.latency_s + time_s,
            .slowest_s = std::max(behind.slowest_s, time_s),
            .exposed_sync_s =
                std::max(sync_s, behind.exposed_sync_s - figures.backward_s),
            .degrees = degrees,
            .next_place = next_place,
            .next_tail = k},
           front_s_[i], place.tails);
    }
  }

  // Adds a tail unless it is dominated or cannot beat the known score.
  // `front_s` is a lower bound on the latency of the stages in front.
  void Keep(const Tail& added, double front_s, std::vector<Tail>& tails) const {
    Tail least = added;
    least.latency_s += front_s;
    least.exposed_sync_s = 0;
    if (ScoreOf(least) >= configuration_.score_s) return;
    InsertNonDominated(added, AtLeastAsGood, tails);
  }

  // Takes over the cuts and degrees of a tail of the first place.
  void Adopt(const Tail& best) {
    const Tail* tail = &best;
    int position = places_[0][0].position;
    for (int i = 0; i < num_stages_; ++i) {
      const Place& next = places_[i + 1][tail->next_place];
      StageShape& shape = configuration_.stages[i].shape;
      shape.begin = position;
      shape.end = position = next.position;
      shape.degrees = tail->degrees;
      tail = &next.tails[tail->next_tail];
    }
    Complete(tables_, configuration_);
  }

  CostTables& tables_;
  const SliceLayout& layout_;
  Configuration& configuration_;
  const std::vector<ConfiguredStage> stages_;  // The stages before refinement.
  const int num_stages_;
  std::vector<std::vector<Place>>
      places_;  // By stage; the last entry is the slice's end.
  std::vector<absl::InlinedVector<int, 4>>
      choices_;  // Indices of degrees, by stage.
  // By stage: a lower bound on the latency of all stages before it.
  std::vector<double> front_s_;
  double longest_s_ =
      kInfinity;  // A slower stage cannot be part of a better score.
};

}  // namespace

bool Refine(CostTables& tables, Configuration& configuration) {
  if (configuration.bytes_short > 0) return false;
  bool changed = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!Refiner(tables, configuration).Run()) break;
    changed = true;
  }
  return changed;
}

}  // namespace tangram::aceso
