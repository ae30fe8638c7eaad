#include "cli/planning/local_planning.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/args/request.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/wire/answered_request.h"
#include "coordinator/dispatch/caching_slice_plan_source.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/dispatch/task_threads.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"
#include "worker/adapters/builtin_parallelizers.h"
#include "worker/adapters/process/parallelizer_spec.h"

namespace tangram {
namespace {

// Bytes of answers that each parallelizer keeps if several are mixed, since
// mixing asks for the same slice plans again.
constexpr int64_t kCacheBytes = int64_t{256} << 20;

// Stages of slice plans that several plans share as they are, some 100 MB.
constexpr int64_t kMostUnpackedStages = 500'000;

// Slice plans that one of several plans asks at once, a few milliseconds of
// work, for which the others may wait.
constexpr size_t kMostClaims = 16;

// A parallelizer of this process and its threads. `cache` refers to `threads`,
// which refer to `parallelizer`.
struct LocalMember {
  std::unique_ptr<Parallelizer> parallelizer;
  std::unique_ptr<SlicePlanSource> threads;
  std::unique_ptr<SlicePlanSource> cache;  // Null for a single parallelizer.

  SlicePlanSource* source() const {
    return cache != nullptr ? cache.get() : threads.get();
  }
};

// With `asks_again`, a single parallelizer is also asked for the same slice
// plans again. `shared` may be null.
absl::StatusOr<std::vector<LocalMember>> CreateMembers(
    const PlanningSetup& setup, bool asks_again, const StopCondition& stop,
    PlanTracer* tracer, SharedSlicePlans* shared, TaskThreads& threads) {
  std::vector<std::string> names = BuiltinParallelizerNames();
  if (setup.parallelizer != kAllParallelizers &&
      setup.parallelizer != kSuitableParallelizers) {
    TANGRAM_ASSIGN_OR_RETURN(names, SplitParallelizerList(setup.parallelizer));
  }
  std::vector<LocalMember> members;
  for (const std::string& name : names) {
    LocalMember& member = members.emplace_back();
    TANGRAM_ASSIGN_OR_RETURN(member.parallelizer, CreateParallelizer(name));
    member.threads = CreateLocalSlicePlanSource(
        *member.parallelizer, NumThreads(setup),
        [&stop] { return stop.ShouldStop(); },
        {.log = tracer, .now_s = [tracer] { return tracer->now_s(); }},
        &threads);
    if (shared != nullptr) {
      member.cache = CreateCachingSlicePlanSource(
          *member.threads, shared->Of(name), !ReadsSearchSteps(name));
    } else if (names.size() > 1 || asks_again) {
      member.cache = CreateCachingSlicePlanSource(*member.threads, kCacheBytes);
    }
  }
  return members;
}

// Returns names and versions: "aceso 1, mist 1".
std::string VersionsOf(const std::vector<LocalMember>& members) {
  return absl::StrJoin(members, ", ",
                       [](std::string* out, const LocalMember& member) {
                         absl::StrAppend(out, member.parallelizer->name(), " ",
                                         member.parallelizer->version());
                       });
}

}  // namespace

absl::StatusOr<PlanningSetup> PlanningSetupOf(const PlanOptions& options) {
  PlanningSetup setup{.parallelizer = options.parallelizer,
                      .planner = options.planner,
                      .search = options.search,
                      .num_threads = options.num_threads,
                      .coordinator = options.coordinator,
                      .job_id = options.job_id,
                      .priority = options.priority,
                      .job = options.job,
                      .skip_cache = options.skip_cache};
  TANGRAM_ASSIGN_OR_RETURN(setup.planner_options,
                           ParsePlannerOptions(options.planner_options));
  if (setup.parallelizer.empty()) {
    setup.parallelizer = std::string(kSuitableParallelizers);
  }
  return setup;
}

int NumThreads(const PlanningSetup& setup) {
  if (setup.num_threads > 0) return setup.num_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::shared_ptr<SharedAnswers> SharedSlicePlans::Of(const std::string& name) {
  const MutexLock lock(mutex_);
  std::shared_ptr<SharedAnswers>& answers = by_name_[name];
  if (answers == nullptr) {
    answers = std::make_shared<SharedAnswers>(kCacheBytes, kMostClaims,
                                              kMostUnpackedStages);
  }
  return answers;
}

int64_t SharedSlicePlans::num_asked() {
  const MutexLock lock(mutex_);
  int64_t num_asked = 0;
  for (const auto& [name, answers] : by_name_)
    num_asked += answers->num_asked();
  return num_asked;
}

absl::StatusOr<PlanFile> PlanLocally(const PlanRequest& request,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop,
                                     ProgressLine& line, PlanTracer* tracer,
                                     SharedSlicePlans* shared) {
  TANGRAM_ASSIGN_OR_RETURN(
      PlannerChoice choice,
      BuiltinPlanners().Choose(setup.planner, setup.planner_options,
                               setup.search));
  if (shared != nullptr) choice.search.shared_times = &shared->times();
  TaskThreads threads(NumThreads(setup));
  if (NumThreads(setup) > 1) choice.search.tasks = &threads;
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<LocalMember> members,
      CreateMembers(setup, request.constraints.asks_all_runtimes(), stop,
                    tracer, shared, threads));
  std::vector<PortfolioMember> portfolio;
  for (const LocalMember& member : members) {
    portfolio.push_back({.parallelizer = member.parallelizer->name(),
                         .source = member.source()});
  }
  const auto planner = CreatePortfolioPlanner(
      std::move(portfolio), choice, FrameworkCatalogue(),
      setup.parallelizer == kSuitableParallelizers ? MembersAsked::kSuitable
                                                   : MembersAsked::kAll);

  PlanMonitor monitor(line, stop, tracer);
  absl::StatusOr<PlanResult> result = planner->Plan(request, monitor);
  std::vector<PhaseTime> phases = monitor.Finish();
  if (tracer != nullptr)
    tracer->Finish(result.ok() ? "" : result.status().ToString());
  if (!result.ok()) return std::move(result).status();

  PlanFile file = AnsweredRequest(request, *std::move(result));
  file.planner = choice.planner->name;
  file.planner_options = setup.planner_options;
  file.provenance = {.tool_version = Version(),
                     .parallelizer = VersionsOf(members),
                     .num_workers = NumThreads(setup)};
  for (const PhaseTime& phase : phases) file.provenance.wall_s += phase.wall_s;
  file.provenance.phases = std::move(phases);
  return file;
}

}  // namespace tangram
