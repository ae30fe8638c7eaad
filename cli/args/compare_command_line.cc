#include "cli/args/compare_command_line.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/args/coordinator_options.h"
#include "cli/args/option_checks.h"
#include "cli/args/shared_options.h"

namespace tangram {
namespace {

void AddSearch(CLI::App& app, CompareOptions& compare) {
  app.add_option("--planners", compare.planners,
                 "Compare these planners; tangram planners lists them [all]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...")
      ->group("Search");
  app.add_option("--planner-option", compare.planner_options,
                 "Set an option of a planner")
      ->allow_extra_args(false)
      ->type_name("PLANNER.NAME=VALUE")
      ->group("Search");
  PlanOptions& plan = compare.plan;
  app.add_option("--parallelizer", plan.parallelizer,
                 "Plan islands with NAME,... or all, in planners that ask "
                 "parallelizers [what suits model and runtime]")
      ->group("Search");
  app.add_option("--runtime", plan.constraints.runtime,
                 "Plan only what this framework can run, in planners that plan "
                 "for one; auto: the one with the fastest plan [any]")
      ->type_name("NAME|auto|any")
      ->group("Search");
  AddEffort(app, plan);
}

}  // namespace

void AddCompare(CLI::App& app, CompareOptions& compare) {
  PlanOptions& plan = compare.plan;
  AddCluster(app, plan.cluster, /*required=*/true);
  AddProfiles(app, plan.cluster);
  AddMemoryMargin(app, plan.cluster.memory_margin);
  AddModel(app, plan.model, /*required=*/true);
  AddTraining(app, plan.training, /*required=*/true);
  AddSearch(app, compare);
  AddCoordinator(app, plan.coordinator, /*required=*/false,
                 "Plan on this coordinator, not in this process");
  AddOptional(app, "--timeout", plan.timeout_s,
              "Let each planner plan for this many seconds")
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"));
  app.add_option("-o,--output", compare.output_folder,
                 "Write each plan and a report of all into this folder; make "
                 "it if it is missing")
      ->type_name("FOLDER");
  AddProgress(app, plan.progress);
}

}  // namespace tangram
