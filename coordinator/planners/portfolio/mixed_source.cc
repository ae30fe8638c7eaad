#include "coordinator/planners/portfolio/mixed_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/status_macros.h"
#include "common/parallelizer/keep_within.h"
#include "common/planner/keep_closest.h"

namespace tangram {
namespace {

// Adds the answer of one member to the mix. The mix covers as many trailing
// stages as the member that covers fewest.
void Merge(SlicePlanSet other, SlicePlanSet& answer) {
  std::move(other.plans.begin(), other.plans.end(),
            std::back_inserter(answer.plans));
  KeepClosest(other.infeasible, answer.infeasible);
  answer.covers_trailing_stages =
      std::min(answer.covers_trailing_stages, other.covers_trailing_stages);
  answer.search_steps += other.search_steps;
  answer.truncated |= other.truncated;
}

// Asks one member all questions of a batch.
class Asking : public OrderedTask {
 public:
  Asking(SlicePlanSource& member, int number, int num_members,
         const PairContext& context, absl::Span<const PairQuery> queries,
         const SlicePlanSource::Progress& progress,
         std::vector<SlicePlanSet>& answers)
      : member_(member),
        number_(number),
        num_members_(num_members),
        context_(context),
        queries_(queries),
        progress_(progress),
        answers_(answers) {}

  void Work(const TaskTurn& turn) override {
    // All members count as one list of num_members · total questions.
    const auto of_all = [&](int done, int total) {
      if (progress_ && turn.IsNext()) {
        progress_(number_ * total + done, num_members_ * total);
      }
    };
    own_ = member_.Parallelize(context_, queries_, of_all);
  }

  absl::Status Take() override {
    TANGRAM_RETURN_IF_ERROR(own_.status());
    for (size_t i = 0; i < queries_.size(); ++i) {
      SettleCoverage(queries_[i].trailing_stages, (*own_)[i]);
      Merge(std::move((*own_)[i]), answers_[i]);
    }
    return absl::OkStatus();
  }

 private:
  SlicePlanSource& member_;
  const int number_;
  const int num_members_;
  const PairContext& context_;
  const absl::Span<const PairQuery> queries_;
  const SlicePlanSource::Progress& progress_;
  std::vector<SlicePlanSet>& answers_;
  absl::StatusOr<std::vector<SlicePlanSet>> own_;
};

class MixedSource : public SlicePlanSource {
 public:
  MixedSource(std::vector<SlicePlanSource*> members, TaskRunner* tasks)
      : members_(std::move(members)), tasks_(tasks) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return members_.front()->SliceModel(model);
  }

  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    return members_.front()->Concatenate(queries);
  }

  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context,
      absl::Span<const ProfileQuery> queries) override {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<PerformanceProfile> lowest,
                             members_.front()->Profile(context, queries));
    for (size_t m = 1; m < members_.size(); ++m) {
      TANGRAM_ASSIGN_OR_RETURN(const std::vector<PerformanceProfile> profiles,
                               members_[m]->Profile(context, queries));
      for (size_t i = 0; i < lowest.size(); ++i) {
        lowest[i].min_gpu_seconds =
            std::min(lowest[i].min_gpu_seconds, profiles[i].min_gpu_seconds);
        lowest[i].min_latency_s =
            std::min(lowest[i].min_latency_s, profiles[i].min_latency_s);
        lowest[i].min_total_bytes =
            std::min(lowest[i].min_total_bytes, profiles[i].min_total_bytes);
      }
    }
    return lowest;
  }

  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    std::vector<SlicePlanSet> answers(
        queries.size(),
        SlicePlanSet{.covers_trailing_stages = kUnlimitedTrailingStages});
    const int num_members = static_cast<int>(members_.size());
    TANGRAM_RETURN_IF_ERROR(RunTasks(tasks_, num_members, [&](int m) {
      return std::make_unique<Asking>(*members_[m], m, num_members, context,
                                      queries, progress, answers);
    }));
    // A pair with a plan of any member is feasible.
    for (SlicePlanSet& answer : answers) {
      if (!answer.plans.empty()) answer.infeasible.reset();
    }
    return answers;
  }

 private:
  const std::vector<SlicePlanSource*> members_;
  TaskRunner* const tasks_;
};

}  // namespace

std::unique_ptr<SlicePlanSource> CreateMixedSource(
    std::vector<SlicePlanSource*> members, TaskRunner* tasks) {
  return std::make_unique<MixedSource>(std::move(members), tasks);
}

}  // namespace tangram
