#include "coordinator/planning/run_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/wire/answered_request.h"
#include "coordinator/dispatch/remote_slice_plan_source.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"

namespace tangram {
namespace {

// An adapter with which a plan failed.
struct UnfitAdapter {
  AdapterId id;
  absl::Status why;
};

std::set<AdapterId> IdsOf(const std::vector<UnfitAdapter>& adapters) {
  std::set<AdapterId> ids;
  for (const UnfitAdapter& adapter : adapters) ids.insert(adapter.id);
  return ids;
}

// The parallelizers that an order names, each with its source of slice plans.
struct Members {
  std::vector<AdapterId> adapters;
  std::vector<std::unique_ptr<RemoteSlicePlanSource>> sources;
  std::vector<PortfolioMember> members;
  // Names that are not planned with because their workers are in quarantine.
  std::map<std::string, absl::Status> withheld;

  int64_t cache_hits() const {
    int64_t hits = 0;
    for (const auto& source : sources) hits += source->cache_hits();
    return hits;
  }

  std::string Versions() const {  // E.g. "aceso 1, mist 1".
    return absl::StrJoin(adapters, ", ",
                         [](std::string* out, const AdapterId& id) {
                           absl::StrAppend(out, id.name, " ", id.version);
                         });
  }

  // Returns the version of `name` that is used. Null: none.
  const AdapterId* Find(const std::string& name) const {
    const auto it =
        std::find_if(adapters.begin(), adapters.end(),
                     [&](const AdapterId& id) { return id.name == name; });
    return it == adapters.end() ? nullptr : &*it;
  }

  // Returns whether other workers than those that failed may answer: all of
  // them, or one if the caller `names_none`, never gave a right answer.
  bool FailedUnproven(bool names_none) const {
    bool has_proven = false;
    bool has_unproven = false;
    for (const auto& source : sources) {
      if (source->failure().ok()) continue;
      (source->failed_unproven() ? has_unproven : has_proven) = true;
    }
    return has_unproven && (names_none || !has_proven);
  }

  // Returns the adapter whose workers caused the error of a plan. Empty: none.
  std::optional<UnfitAdapter> CauseOf(const absl::Status& error) const {
    std::optional<UnfitAdapter> cause;
    for (size_t i = 0; i < sources.size(); ++i) {
      const absl::Status& failure = sources[i]->failure();
      if (failure.ok()) continue;
      // A planner may also have gone on without a parallelizer.
      if (!cause.has_value() || failure == error)
        cause = {adapters[i], failure};
    }
    return cause;
  }
};

// Returns whether the list stands for whatever parallelizers are offered.
bool NamesNone(absl::string_view list) {
  return list == kAllParallelizers || list == kSuitableParallelizers;
}

absl::StatusOr<Members> FindMembers(WorkerPool& pool, const std::string& list,
                                    const std::set<AdapterId>& unfit,
                                    const std::function<bool()>& should_stop,
                                    QueryLog* log, const BatchShare& share,
                                    const WaitHooks& hooks) {
  Members found;
  if (NamesNone(list)) {
    TANGRAM_ASSIGN_OR_RETURN(
        WorkerPool::AdapterList all,
        pool.AllAdapters(should_stop, unfit, share.may_wait));
    for (AdapterInfo& adapter : all.adapters) {
      found.adapters.push_back(std::move(adapter.id));
    }
    found.withheld = std::move(all.withheld);
  } else {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                             SplitParallelizerList(list));
    for (const std::string& name : names) {
      absl::StatusOr<AdapterInfo> adapter =
          pool.FindAdapter(name, should_stop, unfit, share.may_wait);
      // It is unknown until its first worker joins.
      if (share.may_wait && absl::IsInvalidArgument(adapter.status())) {
        return absl::UnavailableError(absl::StrCat(
            "no worker has offered it yet: ", adapter.status().message()));
      }
      TANGRAM_RETURN_IF_ERROR(adapter.status());
      found.adapters.push_back(std::move(adapter->id));
    }
  }
  for (const AdapterId& id : found.adapters) {
    found.sources.push_back(
        CreateRemoteSlicePlanSource(pool, id, should_stop, log, share, hooks));
    found.members.push_back(
        {.parallelizer = id.name, .source = found.sources.back().get()});
  }
  return found;
}

// Adds a note about each adapter that did not plan.
void AddNotes(const Members& members, const std::vector<UnfitAdapter>& unfit,
              std::vector<std::string>& notes) {
  // Room for a few lines; an adapter may write without end.
  constexpr size_t kMaxReasonBytes = 500;
  const auto reason = [](const absl::Status& why) {
    return PrintableText(why.message(), kMaxReasonBytes);
  };
  for (const UnfitAdapter& failed : unfit) {
    const AdapterId* used = members.Find(failed.id.name);
    notes.push_back(absl::StrCat(
        "parallelizer ", failed.id.name, " ", failed.id.version,
        used == nullptr
            ? " was left out: "
            : absl::StrCat(" was replaced by version ", used->version, ": "),
        reason(failed.why)));
  }
  for (const auto& [name, why] : members.withheld) {
    notes.push_back(
        absl::StrCat("parallelizer ", name, " was left out: ", reason(why)));
  }
}

// Plans with these members and within the budget.
absl::StatusOr<PlanResult> PlanOnce(const Members& members,
                                    const PlanOrder& order,
                                    PlanningMonitor& monitor,
                                    PlanBudget& budget) {
  std::vector<std::unique_ptr<SlicePlanSource>> charged;
  std::vector<PortfolioMember> parts = members.members;
  for (PortfolioMember& part : parts) {
    charged.push_back(budget.Charge(*part.source));
    part.source = charged.back().get();
  }
  const MembersAsked asked = order.parallelizer == kSuitableParallelizers
                                 ? MembersAsked::kSuitable
                                 : MembersAsked::kAll;
  return budget.Run(monitor, [&](PlanObserver& observer) {
    return CreatePortfolioPlanner(std::move(parts), order.planner,
                                  FrameworkCatalogue(), asked)
        ->Plan(order.request, observer);
  });
}

struct Outcome {
  PlanResult result;
  Members members;
};

// Returns what a plan ends with that failed with `error`. Workers that nobody
// knows yet may be at fault, so whoever may wait is told to.
absl::Status EndOf(const absl::Status& error, bool failed_unproven,
                   const BatchShare& share) {
  if (!failed_unproven || !share.may_wait || absl::IsResourceExhausted(error)) {
    return error;
  }
  return absl::UnavailableError(absl::StrCat(
      "only workers that never gave a right answer say: ", error.message()));
}

// Plans until no adapter fails that could be replaced or left out. Each round
// has one adapter less, and answers of the others are cached. If all fail, the
// error is that of the first.
absl::StatusOr<Outcome> PlanWithFitMembers(
    WorkerPool& pool, const PlanOrder& order, PlanningMonitor& monitor,
    const std::function<bool()>& should_stop, PlanBudget& budget, QueryLog* log,
    const BatchShare& share, const WaitHooks& hooks) {
  std::vector<UnfitAdapter> unfit;
  absl::Status first_error;
  const bool names_none = NamesNone(order.parallelizer);
  while (true) {
    const std::set<AdapterId> unfit_ids = IdsOf(unfit);
    absl::StatusOr<Members> members;
    if (order.planner.planner->features.parallelizers) {
      // It may have to wait for workers.
      if (hooks.on_wait) hooks.on_wait();
      members = FindMembers(pool, order.parallelizer, unfit_ids, should_stop,
                            log, share, hooks);
      if (hooks.on_resume) hooks.on_resume();
    } else {
      members.emplace();
    }
    if (!members.ok()) {
      return unfit.empty() || absl::IsCancelled(members.status())
                 ? members.status()
                 : first_error;
    }
    absl::StatusOr<PlanResult> result =
        PlanOnce(*members, order, monitor, budget);
    if (result.ok()) {
      AddNotes(*members, unfit, result->notes);
      result->stats.truncated |= !unfit.empty() || !members->withheld.empty();
      for (const UnfitAdapter& failed : unfit) {
        if (members->Find(failed.id.name) != nullptr) {
          pool.NoteFailed(failed.id);
        }
      }
      return Outcome{*std::move(result), *std::move(members)};
    }
    std::optional<UnfitAdapter> cause = members->CauseOf(result.status());
    if (!cause.has_value() || absl::IsCancelled(result.status())) {
      return result.status();
    }
    if (unfit.empty()) {
      first_error =
          EndOf(result.status(), members->FailedUnproven(names_none), share);
    }
    const std::string name = cause->id.name;
    unfit.push_back(*std::move(cause));
    const bool may_leave_out = names_none && members->members.size() > 1;
    if (!may_leave_out && !pool.IsOffered(name, IdsOf(unfit))) {
      return first_error;
    }
  }
}

}  // namespace

std::set<std::string> UsualAdapters() {
  std::set<std::string> names;
  for (const PlanningRuntime* runtime : FrameworkCatalogue().All()) {
    for (std::string& name : runtime->AllParallelizers()) {
      names.insert(std::move(name));
    }
  }
  return names;
}

absl::StatusOr<PlanFile> RunPlan(WorkerPool& pool, PlanOrder order,
                                 PlanningMonitor& monitor,
                                 const std::function<bool()>& should_stop,
                                 const PlanLimits& limits, QueryLog* log,
                                 const BatchShare& share,
                                 const WaitHooks& hooks) {
  PlanBudget budget(limits);
  TANGRAM_ASSIGN_OR_RETURN(Outcome outcome,
                           PlanWithFitMembers(pool, order, monitor, should_stop,
                                              budget, log, share, hooks));
  const Members& members = outcome.members;
  PlanFile file =
      AnsweredRequest(std::move(order.request), std::move(outcome.result));
  file.planner = order.planner.planner->name;
  file.planner_options = std::move(order.planner_options);
  file.provenance = {.tool_version = Version(),
                     .parallelizer = members.Versions(),
                     .phases = monitor.Finish(),
                     .wall_s = monitor.wall_s(),
                     .num_workers = pool.NumWorkers(),
                     .cache_hits = members.cache_hits()};
  return file;
}

}  // namespace tangram
