#include "coordinator/planners/replicas/exact_search.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "common/sim/replica_rings.h"
#include "common/sim/share_batch.h"
#include "coordinator/planners/replicas/place_groups.h"

namespace tangram {
namespace {

bool Holds(const NodeGroup& all, const NodeGroup& part) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (part[i] > all[i]) return false;
  }
  return true;
}

NodeGroup Without(NodeGroup all, const NodeGroup& part) {
  for (size_t i = 0; i < all.size(); ++i) all[i] -= part[i];
  return all;
}

// The most samples that pipelines on some nodes can do (V).
class MostSamples {
 public:
  MostSamples(const CandidatePlans& candidates, std::vector<int64_t> samples)
      : candidates_(candidates), samples_(std::move(samples)) {}

  int64_t Of(size_t c) const { return samples_[c]; }

  int64_t On(const NodeGroup& nodes, int num_pipelines) {
    if (num_pipelines == 0) return 0;
    const auto [place, is_new] = most_.try_emplace({nodes, num_pipelines});
    if (!is_new) return place->second;
    int64_t most = 0;
    if (most_.size() > kMostStates) {
      for (const int64_t samples : samples_) most = std::max(most, samples);
      most *= num_pipelines;
    } else {
      for (size_t c = 0; c < candidates_.size(); ++c) {
        if (samples_[c] == 0 || !Holds(nodes, candidates_[c].nodes)) continue;
        most = std::max(most,
                        samples_[c] + On(Without(nodes, candidates_[c].nodes),
                                         num_pipelines - 1));
      }
    }
    return most_[{nodes, num_pipelines}] = most;
  }

 private:
  static constexpr size_t kMostStates = 1 << 14;

  const CandidatePlans& candidates_;
  const std::vector<int64_t> samples_;
  std::map<std::pair<NodeGroup, int>, int64_t> most_;
};

class ExactSearch {
 public:
  ExactSearch(const PlanRequest& request, absl::Span<const Island> islands,
              CandidatePlans& candidates, const ExactLimits& limits,
              PlanObserver& observer)
      : request_(request),
        islands_(islands),
        candidates_(candidates),
        limits_(limits),
        observer_(observer),
        limit_s_(limits.limit_s) {
    for (const Island& island : islands_) {
      all_.push_back(static_cast<int>(island.nodes.size()));
    }
  }

  absl::StatusOr<ExactAnswer> Run() && {
    for (int n = 2; n <= limits_.max_pipelines; ++n) {
      for (const ReplicaSync sync :
           {ReplicaSync::kAllReduce, ReplicaSync::kZero1}) {
        num_pipelines_ = n;
        sync_ = sync;
        MostSamples most(candidates_, SamplesInTime());
        TANGRAM_RETURN_IF_ERROR(Choose(most, 0, all_, 0));
      }
    }
    return std::move(answer_);
  }

 private:
  // A choice of candidates, with the segments of their exchange.
  struct Choice {
    ReplicatedPlan plan;
    std::vector<ReplicaSegment> segments;
    std::vector<int> most;  // Microbatches that the limit allows, by pipeline.
  };

  int Sharing() const {
    return sync_ == ReplicaSync::kAllReduce ? 1 : num_pipelines_;
  }
  int Batch() const { return request_.training.global_batch_size; }

  // Returns N_c for all candidates.
  std::vector<int64_t> SamplesInTime() {
    std::vector<int64_t> samples;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      const int size = candidates_.MicrobatchSize(c);
      const int64_t most = candidates_.MostMicrobatches(
          c, Batch() / size, Sharing(), limit_s_,
          [](const Evaluation& e) { return e.iteration_time_s; });
      samples.push_back(most * size);
    }
    return samples;
  }

  // Adds candidates from `first` on to the chosen ones, on `nodes`.
  absl::Status Choose(MostSamples& most, size_t first, const NodeGroup& nodes,
                      int64_t chosen_samples) {
    if (static_cast<int>(chosen_.size()) == num_pipelines_) return PlayChosen();
    const int left = num_pipelines_ - static_cast<int>(chosen_.size()) - 1;
    for (size_t c = first; c < candidates_.size(); ++c) {
      if (most.Of(c) == 0 || !Holds(nodes, candidates_[c].nodes)) continue;
      const NodeGroup rest = Without(nodes, candidates_[c].nodes);
      const int64_t samples = chosen_samples + most.Of(c);
      if (samples + most.On(rest, left) < Batch()) continue;
      chosen_.push_back(c);
      const absl::Status status = Choose(most, c, rest, samples);
      chosen_.pop_back();
      TANGRAM_RETURN_IF_ERROR(status);
      if (!answer_.is_exact) break;
    }
    return absl::OkStatus();
  }

  // Plays the chosen candidates with all shares that may be faster.
  absl::Status PlayChosen() {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    if (++num_choices_ > limits_.most_choices) {
      answer_.is_exact = false;
      return absl::OkStatus();
    }
    Choice choice = Placed();
    int64_t samples = 0;
    for (size_t r = 0; r < chosen_.size(); ++r) {
      const int size = candidates_.MicrobatchSize(chosen_[r]);
      choice.most.push_back(candidates_.MostMicrobatches(
          chosen_[r], Batch() / size, Sharing(), limit_s_,
          [&](const Evaluation& e) { return Least(choice, r, e); }));
      if (choice.most.back() == 0) return absl::OkStatus();
      samples += int64_t{choice.most.back()} * size;
    }
    if (samples < Batch()) return absl::OkStatus();
    PlayBalanced(choice);
    return Share(choice, 0, Batch());
  }

  double Least(const Choice& choice, size_t r, const Evaluation& e) const {
    return LeastJoinedSeconds(choice.segments, r, e,
                              choice.plan.pipelines[r].plan.num_devices());
  }

  Choice Placed() const {
    std::vector<PlacedGroup> placed;
    for (const size_t c : chosen_) {
      placed.push_back({&candidates_[c].nodes, &candidates_[c].plan, 1});
    }
    Choice choice{.plan = PlaceGroups(islands_, placed, sync_)};
    choice.segments = ReplicaSegments(request_.model, request_.cluster,
                                      request_.training, choice.plan);
    return choice;
  }

  // Plays the shares that end together by the line through the ends with most
  // and with half of the microbatches. Their time is a limit for the others.
  void PlayBalanced(Choice& choice) {
    std::vector<SamplePace> paces;
    for (size_t r = 0; r < chosen_.size(); ++r) {
      const int step = candidates_.StepOf(chosen_[r]);
      const int most = choice.most[r];
      const int half = std::max(most / step / 2, 1) * step;
      const double most_s = LeastWith(choice, r, most);
      const double slope_s =
          half == most ? most_s / most
                       : (most_s - LeastWith(choice, r, half)) / (most - half);
      if (slope_s <= 0) return;
      paces.push_back(
          {.pace = {.fill_s = most_s - slope_s * most,
                    .microbatch_s = slope_s * step},
           .microbatch_size = step * candidates_.MicrobatchSize(chosen_[r])});
    }
    const auto shares = ShareSamples(paces, Batch());
    if (!shares.has_value()) return;
    for (size_t r = 0; r < chosen_.size(); ++r) {
      const int64_t share = (*shares)[r] * candidates_.StepOf(chosen_[r]);
      if (share == 0 || share > choice.most[r]) return;
      choice.plan.pipelines[r].num_microbatches = static_cast<int>(share);
    }
    Play(choice);
  }

  double LeastWith(const Choice& choice, size_t r, int num_microbatches) {
    return Least(choice, r,
                 *candidates_.Played(chosen_[r], num_microbatches, Sharing()));
  }

  // Gives pipelines from `r` on their shares of `samples` in all ways.
  absl::Status Share(Choice& choice, size_t r, int64_t samples) {
    const int size = candidates_.MicrobatchSize(chosen_[r]);
    const int step = candidates_.StepOf(chosen_[r]);
    const bool is_last = r + 1 == chosen_.size();
    int64_t others = 0;
    for (size_t q = r + 1; q < chosen_.size(); ++q) {
      others +=
          int64_t{choice.most[q]} * candidates_.MicrobatchSize(chosen_[q]);
    }
    const int64_t least =
        std::max<int64_t>(step, (samples - others + size - 1) / size);
    for (int64_t b = choice.most[r]; b >= least && answer_.is_exact;
         b -= step) {
      const int64_t rest = samples - b * size;
      if (is_last ? rest != 0 : rest <= 0) continue;
      // The limit may be lower than when `most` was found.
      if (LeastWith(choice, r, static_cast<int>(b)) >= limit_s_) continue;
      choice.plan.pipelines[r].num_microbatches = static_cast<int>(b);
      if (!is_last) {
        TANGRAM_RETURN_IF_ERROR(Share(choice, r + 1, rest));
        continue;
      }
      if (answer_.num_plays >= limits_.most_plays) {
        answer_.is_exact = false;
        return absl::OkStatus();
      }
      if (observer_.ShouldStop()) {
        return absl::CancelledError("planning stopped");
      }
      Play(choice);
    }
    return absl::OkStatus();
  }

  void Play(const Choice& choice) {
    ++answer_.num_plays;
    std::vector<Evaluation> pipelines;
    for (size_t r = 0; r < chosen_.size(); ++r) {
      pipelines.push_back(*candidates_.Played(
          chosen_[r], choice.plan.pipelines[r].num_microbatches, Sharing()));
    }
    ReplicatedEvaluation evaluation =
        JoinPipelines(request_.model, request_.cluster, request_.training,
                      choice.plan, choice.segments, std::move(pipelines));
    if (evaluation.iteration_time_s >= limit_s_) return;
    if (limits_.takes && !limits_.takes(choice.plan)) return;
    limit_s_ = evaluation.iteration_time_s;
    Partition groups;
    for (const size_t c : chosen_) groups.push_back(candidates_[c].nodes);
    answer_.best =
        PlayedPartition{std::move(groups), choice.plan, std::move(evaluation)};
  }

  const PlanRequest& request_;
  const absl::Span<const Island> islands_;
  CandidatePlans& candidates_;
  const ExactLimits& limits_;
  PlanObserver& observer_;
  NodeGroup all_;
  double limit_s_;
  int num_pipelines_ = 0;
  ReplicaSync sync_ = ReplicaSync::kAllReduce;
  std::vector<size_t> chosen_;
  int64_t num_choices_ = 0;
  ExactAnswer answer_;
};

}  // namespace

absl::StatusOr<ExactAnswer> SearchExactly(const PlanRequest& request,
                                          absl::Span<const Island> islands,
                                          CandidatePlans& candidates,
                                          const ExactLimits& limits,
                                          PlanObserver& observer) {
  return ExactSearch(request, islands, candidates, limits, observer).Run();
}

}  // namespace tangram
