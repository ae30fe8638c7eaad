#include "tests/bench/challenger/instances/plan_instances.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer_list.h"
#include "coordinator/dispatch/caching_slice_plan_source.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"
#include "tests/testing/silent_observer.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::bench {
namespace {

constexpr int64_t kCacheBytes = int64_t{64} << 20;  // For each parallelizer.

// Takes the models that others do not know.
constexpr char kKnowsAll[] = "uniform";

class InProcess {
 public:
  explicit InProcess(const TangramOptions& options) : options_(options) {}

  absl::StatusOr<Answer> Plan(const Instance& instance) {
    const std::string key = absl::StrCat(
        ClusterText(instance), ModelText(instance), ArgumentsOf(instance));
    const auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, RequestOf(instance));
    absl::StatusOr<PlanResult> result =
        PlanWith(request, instance.parallelizers);
    if (absl::IsUnimplemented(result.status())) {
      result = PlanWith(request, kKnowsAll);
    }
    TANGRAM_RETURN_IF_ERROR(result.status());
    Answer answer{.lower_bound_s = result->lower_bound_s};
    if (result->plan.has_value()) {
      answer.iteration_time_s = result->evaluation.iteration_time_s;
    }
    answers_[key] = answer;
    return answer;
  }

 private:
  struct Member {
    std::unique_ptr<Parallelizer> adapter;
    std::unique_ptr<SlicePlanSource> local;
    std::unique_ptr<SlicePlanSource> cache;
  };

  absl::StatusOr<PlanResult> PlanWith(const PlanRequest& request,
                                      const std::string& parallelizers) {
    std::vector<std::string> names = BuiltinParallelizerNames();
    if (!parallelizers.empty() && parallelizers != kAllParallelizers) {
      TANGRAM_ASSIGN_OR_RETURN(names, SplitParallelizerList(parallelizers));
    }
    std::vector<PortfolioMember> members;
    for (const std::string& name : names) {
      TANGRAM_ASSIGN_OR_RETURN(SlicePlanSource * source, SourceOf(name));
      members.push_back({.parallelizer = name, .source = source});
    }
    TANGRAM_ASSIGN_OR_RETURN(PlannerChoice choice,
                             BuiltinPlanners().Choose("", {}, options_));
    testing::SilentObserver observer;
    return CreatePortfolioPlanner(
               std::move(members), std::move(choice), FrameworkCatalogue(),
               parallelizers.empty() ? MembersAsked::kSuitable
                                     : MembersAsked::kAll)
        ->Plan(request, observer);
  }

  absl::StatusOr<SlicePlanSource*> SourceOf(const std::string& name) {
    Member& member = members_[name];
    if (member.cache == nullptr) {
      TANGRAM_ASSIGN_OR_RETURN(member.adapter, CreateBuiltinParallelizer(name));
      member.local =
          CreateLocalSlicePlanSource(*member.adapter, /*num_threads=*/1);
      member.cache = CreateCachingSlicePlanSource(*member.local, kCacheBytes);
    }
    return member.cache.get();
  }

  const TangramOptions options_;
  std::map<std::string, Member> members_;
  std::map<std::string, Answer> answers_;
};

}  // namespace

PlanInstanceFn PlanInProcess(const TangramOptions& options) {
  auto planner = std::make_shared<InProcess>(options);
  return
      [planner](const Instance& instance) { return planner->Plan(instance); };
}

}  // namespace tangram::bench
