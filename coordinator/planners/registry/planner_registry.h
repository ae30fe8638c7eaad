#ifndef TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_REGISTRY_H_
#define TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/planner.h"
#include "coordinator/planners/registry/planner_options.h"
#include "coordinator/planners/tangram/tangram_options.h"

namespace tangram {

// The features of a planner. The conformance suite reads them to decide which
// behaviour to demand, and the portfolio to decide which searches to try.
struct PlannerFeatures {
  // Asks parallelizers for slice plans. Without them, it plans once, whichever
  // parallelizers there are.
  bool parallelizers = false;
  // One pipeline may hold slice plans of several parallelizers.
  bool mixes_parallelizers = false;
  // Models the differences between GPUs.
  bool heterogeneous = false;
  // Leaves out GPUs that would hold a plan back, so more GPUs never give a
  // slower plan.
  bool leaves_out_gpus = false;
  // Meets PlanRequest::constraints, apart from the runtime, and its
  // pipeline_microbatch_size.
  bool constraints = false;
  // Meets PipelineRules, so it can plan for a runtime.
  bool runtimes = false;
  // Proves a lower bound (PlanFindings::lower_bound_s).
  bool lower_bound = false;
};

// The planner for requests and plan files that name none.
inline constexpr char kDefaultPlanner[] = "tangram";

struct PlannerInfo {
  std::string name;         // "whole-cluster": lower case, digits and dashes.
  std::string description;  // One line.
  std::string origin;       // Paper or project.
  PlannerFeatures features;
  std::vector<PlannerOption> options;
  // Writes the given options that are also typed fields of requests to
  // `search`. Empty: there are none.
  std::function<void(const PlannerOptionValues& options,
                     TangramOptions& search)>
      apply;
  // `source` must outlive the planner.
  std::function<std::unique_ptr<Planner>(
      SlicePlanSource& source, const TangramOptions& search,
      const PlannerOptionValues& options, const PipelineRules& rules)>
      create;
};

// A planner and its options for one request.
struct PlannerChoice {
  const PlannerInfo* planner = nullptr;
  TangramOptions search;
  PlannerOptionValues options;
  // Whether plans of small problems may be others than those of parallelizers.
  bool searches_whole = true;

  std::unique_ptr<Planner> Create(SlicePlanSource& source,
                                  const PipelineRules& rules) const {
    return planner->create(source, search, options, rules);
  }
};

// The planners that requests can choose, in the order of registration. Built
// once, then read by any thread.
class PlannerRegistry {
 public:
  // The name must be new.
  void Register(PlannerInfo planner);

  absl::Span<const PlannerInfo> planners() const { return planners_; }

  // Returns the planner called `name`, or kDefaultPlanner if it is empty.
  // Pointers stay valid as long as the registry. Errors: kInvalidArgument
  // naming the field, `name` and the known planners.
  absl::StatusOr<const PlannerInfo*> Find(absl::string_view name) const;

  // Returns the planner with its options. Those in `options` override `search`.
  // Errors: kInvalidArgument naming the field, its value and the expected ones.
  absl::StatusOr<PlannerChoice> Choose(absl::string_view name,
                                       const PlannerOptionText& options,
                                       const TangramOptions& search) const;

 private:
  std::vector<PlannerInfo> planners_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REGISTRY_PLANNER_REGISTRY_H_
