// The standing challenger: anneals whole plans, and so shows what the planners
// leave. See anneal.h.
//
//   challenger --plan PLAN.json [--steps N] [--seed N] [--output BETTER.json]
//              [--runtime NAME|any] [--schedules] [--keep_offload]
//              [--keep_islands] [--rounds N] [--max_gain PERCENT] [--name NAME]
//
// Prints a line: workload, seconds of the plan, seconds of the best plan found,
// gain, steps, CPU seconds. Then a line for each kind of move that gained. Ends
// with 1 if the gain is above --max_gain, with 2 if there is no answer.

#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "cli/files/plan_files.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/anneal/anneal.h"
#include "tests/bench/challenger/challenge.h"

ABSL_FLAG(std::string, plan, "", "Plan file to challenge.");
ABSL_FLAG(int, steps, 20000, "Plans to try.");
ABSL_FLAG(int, seed, 1, "Seed of the moves.");
ABSL_FLAG(int, rounds, 8, "Times that the temperature falls.");
ABSL_FLAG(std::string, output, "", "File for the best plan.");
ABSL_FLAG(std::string, runtime, "",
          "Runtime whose rules plans obey, or any; empty: as in the plan.");
ABSL_FLAG(bool, schedules, false, "Also change schedules and warm-up passes.");
ABSL_FLAG(bool, keep_offload, false, "Leave alone what hosts keep.");
ABSL_FLAG(bool, keep_islands, false, "Use the islands of the plan, no others.");
ABSL_FLAG(double, max_gain, 1e9, "Percent of gain above which this fails.");
ABSL_FLAG(std::string, name, "", "Workload to print; empty: the plan file.");

namespace tangram::bench {
namespace {

constexpr int kGained = 1;
constexpr int kNoAnswer = 2;

absl::StatusOr<Challenge> ReadChallenge(const PlanFile& file) {
  PlanConstraints others = file.constraints;
  others.runtime.clear();
  if (!others.none()) {
    return absl::InvalidArgumentError(
        "constraints: given; expected no other than the runtime");
  }
  Challenge challenge{.request = {.cluster = file.cluster,
                                  .model = file.model,
                                  .training = file.training,
                                  .constraints = file.constraints},
                      .islands = file.result.islands,
                      .changes_schedule = absl::GetFlag(FLAGS_schedules),
                      .keeps_offload = absl::GetFlag(FLAGS_keep_offload),
                      .keeps_islands = absl::GetFlag(FLAGS_keep_islands)};
  std::string runtime = absl::GetFlag(FLAGS_runtime);
  if (runtime.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(runtime,
                             PlannedRuntime(file.constraints, file.result));
  } else if (runtime == kAnyRuntime) {
    runtime.clear();
  }
  TANGRAM_RETURN_IF_ERROR(SetRuntime(runtime, *file.result.plan, challenge));
  return challenge;
}

// Writes the plan with what belongs to it, and without what the search that it
// challenges said about its own.
absl::Status Write(const PipelinePlan& plan, PlanFile file) {
  PlanResult result{.islands = std::move(file.result.islands), .plan = plan};
  file.result = std::move(result);
  file.provenance = {};
  TANGRAM_RETURN_IF_ERROR(
      EvaluatePlanFile("the best plan", file, /*timelines=*/nullptr));
  return WriteOutputs({.plan_file = absl::GetFlag(FLAGS_output)}, file, {},
                      std::cout);
}

absl::StatusOr<double> ChallengePlan() {
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file,
                           ReadAndEvaluate(absl::GetFlag(FLAGS_plan)));
  if (!file.result.plan.has_value()) {
    return absl::InvalidArgumentError("no plan; expected a pipeline");
  }
  TANGRAM_ASSIGN_OR_RETURN(const Challenge challenge, ReadChallenge(file));
  TANGRAM_ASSIGN_OR_RETURN(
      const anneal::Annealed found,
      anneal::Anneal(challenge, *file.result.plan,
                     {.num_steps = absl::GetFlag(FLAGS_steps),
                      .seed = static_cast<uint64_t>(absl::GetFlag(FLAGS_seed)),
                      .num_rounds = absl::GetFlag(FLAGS_rounds)}));
  const double shipped_s = file.result.evaluation.iteration_time_s;
  const double found_s = found.best.evaluation.iteration_time_s;
  const double gain = 100 * (shipped_s / found_s - 1);
  const std::string name = absl::GetFlag(FLAGS_name);
  const double cpu_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf(
      "%-40s shipped %9.4g s  found %9.4g s  gain %5.2f %%  steps %d  "
      "played %d  CPU %.1f s\n",
      (name.empty() ? absl::GetFlag(FLAGS_plan) : name).c_str(), shipped_s,
      found_s, gain, found.num_steps, found.num_played, cpu_s);
  for (const auto& [moves, gain_s] : found.gains_s) {
    std::printf("  %6.2f %%  %s\n", 100 * gain_s / found_s, moves.c_str());
  }
  if (!absl::GetFlag(FLAGS_output).empty()) {
    TANGRAM_RETURN_IF_ERROR(Write(found.best.plan, std::move(file)));
  }
  return gain;
}

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("challenger --plan PLAN.json");
  absl::ParseCommandLine(argc, argv);
  const absl::StatusOr<double> gain = tangram::bench::ChallengePlan();
  if (!gain.ok()) {
    std::fprintf(stderr, "%s: %s\n", absl::GetFlag(FLAGS_plan).c_str(),
                 std::string(gain.status().message()).c_str());
    return tangram::bench::kNoAnswer;
  }
  return *gain > absl::GetFlag(FLAGS_max_gain) ? tangram::bench::kGained : 0;
}
