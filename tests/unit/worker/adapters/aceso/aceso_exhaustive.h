#ifndef TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ACESO_ACESO_EXHAUSTIVE_H_
#define TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ACESO_ACESO_EXHAUSTIVE_H_

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "tests/unit/worker/adapters/aceso/aceso_query.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {

inline constexpr double kNothingFits = std::numeric_limits<double>::infinity();

// Finds the best score of all configurations of a query: every number of
// stages, every cut between operators, every placement and degrees of each
// stage.
//
// A dynamic program from the last stage to the first. A stage in front needs to
// know about the stages behind a cut:
// - their number, which sets its microbatches in flight;
// - where they begin in the slice and on the island;
// - the number of GPUs of the first of them, which sets the path;
// - and three quantities:
//   latency = Σ t_s,  slowest = max t_s,  exposed = max_s (g_s − Σ_{i<s} b_i)⁺
// A stage (t, b, g) in front turns these into
//   latency + t,  max(slowest, t),  max(exposed − b, g)
// Each grows with its old value, and so does the score. So it suffices to keep
// the ends that no other equals or beats in all three and that can still beat a
// score known to be reached.
class Exhaustive {
 public:
  // `reached_s` is a score known to be reached; infinity if none is.
  Exhaustive(Query& query, double reached_s)
      : query_(query),
        num_ops_(query.layout.num_ops()),
        num_gpus_(query.island.num_gpus()),
        best_s_(reached_s) {
    for (int end = 0; end <= num_ops_; ++end) AddFront(end);
  }

  // Returns the best score, or `reached_s` if that is lower.
  double Best() {
    Table behind;
    for (int stages_behind = 0; stages_behind < num_gpus_; ++stages_behind) {
      Table table = Prepend(behind, stages_behind);
      for (const auto& [at, ends] : table) {
        if (at.begin > 0 || at.first_gpu > 0) continue;
        for (const End& end : ends) {
          const double score_s = ScoreOf(end);
          if (score_s >= best_s_) continue;
          best_s_ = score_s;
          best_ = end;
        }
      }
      behind = std::move(table);
    }
    return best_s_;
  }

  // Returns the stages of the configuration found, if it beats `reached_s`.
  std::vector<StageShape> shapes() const {
    std::vector<StageShape> shapes;
    for (const End* end = &best_; end != nullptr; end = end->next.get()) {
      shapes.push_back(end->shape);
    }
    return shapes;
  }

 private:
  // The last stages of a pipeline.
  struct End {
    double latency_s = 0;
    double slowest_s = 0;
    double exposed_sync_s = 0;
    StageShape shape;
    std::shared_ptr<const End> next;
  };

  struct Place {
    int begin = 0;
    int first_gpu = 0;
    int num_gpus = 0;

    auto operator<=>(const Place&) const = default;
  };

  using Table = std::map<Place, std::vector<End>>;

  // Lower bounds on the operators before a position.
  struct Front {
    double gpu_seconds = 0;
    double seconds = 0;
  };

  void AddFront(int end) {
    Front front;
    if (end > 0) {
      front = {kNothingFits, kNothingFits};
      const int num_choices = static_cast<int>(query_.space.choices().size());
      for (int degrees = 0; degrees < num_choices; ++degrees) {
        const double seconds = query_.tables.At(degrees).time_s.Over(
            query_.layout.at(end - 1), query_.layout.at(end));
        front.seconds = std::min(front.seconds, seconds);
        front.gpu_seconds = std::min(front.gpu_seconds,
                                     seconds * query_.space.num_gpus(degrees));
      }
      front.seconds += fronts_.back().seconds;
      front.gpu_seconds += fronts_.back().gpu_seconds;
    }
    fronts_.push_back(front);
  }

  double ScoreOf(const End& end) const {
    return end.latency_s +
           (query_.tables.num_microbatches() - 1) * end.slowest_s +
           end.exposed_sync_s;
  }

  // Returns a lower bound on pipelines that end so, with stages in front.
  double LeastScore(const End& end, int begin, int first_gpu) const {
    const Front& front = fronts_[begin];
    End least = end;
    least.exposed_sync_s = 0;
    least.latency_s += front.seconds;
    if (begin > 0) {
      least.slowest_s =
          std::max(least.slowest_s, front.gpu_seconds / first_gpu);
    }
    return ScoreOf(least) * (1 - 1e-12);
  }

  static bool IsAsGood(const End& a, const End& b) {
    return a.latency_s <= b.latency_s && a.slowest_s <= b.slowest_s &&
           a.exposed_sync_s <= b.exposed_sync_s;
  }

  void Keep(End added, std::vector<End>& ends) const {
    for (const End& end : ends) {
      if (IsAsGood(end, added)) return;
    }
    std::erase_if(ends, [&](const End& end) { return IsAsGood(added, end); });
    ends.push_back(std::move(added));
  }

  // Returns all ends with one more stage.
  Table Prepend(const Table& behind, int stages_behind) {
    Table table;
    const int num_choices = static_cast<int>(query_.space.choices().size());
    StageShape shape = {.in_flight = InFlightMicrobatches(
                            stages_behind + query_.options.trailing_stages,
                            query_.tables.num_microbatches())};
    for (shape.degrees = 0; shape.degrees < num_choices; ++shape.degrees) {
      for (shape.begin = 0; shape.begin < num_ops_; ++shape.begin) {
        shape.end = stages_behind == 0 ? num_ops_
                                       : query_.layout.EarliestEnd(shape.begin);
        const int last_end = stages_behind == 0 ? num_ops_ : num_ops_ - 1;
        if (query_.layout.EarliestEnd(shape.begin) > shape.end) continue;
        for (; shape.end <= last_end; ++shape.end) {
          if (!Prepend(shape, behind, table)) break;
        }
      }
    }
    return table;
  }

  // Returns false if longer stages are useless too.
  bool Prepend(const StageShape& shape, const Table& behind, Table& table) {
    const double least_s = query_.tables.At(shape.degrees)
                               .time_s.Over(query_.layout.at(shape.begin),
                                            query_.layout.at(shape.end));
    if (query_.tables.num_microbatches() * least_s >= best_s_) return false;
    const StageFigures figures = EstimateFigures(query_.tables, shape);
    if (!figures.fits) return true;
    const double sync_s = SyncSeconds(query_.tables, shape, figures);
    const int num_gpus = query_.space.num_gpus(shape.degrees);
    for (int first_gpu = 0; first_gpu < num_gpus_; ++first_gpu) {
      if (!query_.space.CanPlace(first_gpu, num_gpus)) continue;
      const Place place = {shape.begin, first_gpu, num_gpus};
      if (shape.end == num_ops_) {
        Offer({figures.compute_s, figures.compute_s, sync_s, shape, nullptr},
              place, table);
        continue;
      }
      const int next_gpu = first_gpu + num_gpus;
      for (auto next = behind.lower_bound({shape.end, next_gpu, 0});
           next != behind.end() && next->first.begin == shape.end &&
           next->first.first_gpu == next_gpu;
           ++next) {
        const TransferPath path = PathWithin(query_.island, first_gpu, num_gpus,
                                             next_gpu, next->first.num_gpus);
        const double time_s =
            figures.compute_s + SendSeconds(query_.tables, path, shape.end);
        for (const End& end : next->second) {
          Offer({end.latency_s + time_s, std::max(end.slowest_s, time_s),
                 std::max(sync_s, end.exposed_sync_s - figures.backward_s),
                 shape, std::make_shared<const End>(end)},
                place, table);
        }
      }
    }
    return true;
  }

  void Offer(End end, const Place& place, Table& table) const {
    if (place.begin == 0 && place.first_gpu > 0) return;
    if (place.begin > 0 && place.first_gpu == 0) return;
    if (LeastScore(end, place.begin, place.first_gpu) >= best_s_) return;
    Keep(std::move(end), table[place]);
  }

  Query& query_;
  const int num_ops_;
  const int num_gpus_;
  double best_s_;
  End best_;
  std::vector<Front> fronts_;  // By position.
};

}  // namespace tangram::aceso

#endif  // TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ACESO_ACESO_EXHAUSTIVE_H_
