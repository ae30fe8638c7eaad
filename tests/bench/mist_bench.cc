// Times Mist's search with our kernels on the questions of its own tuner, with
// the same tables and its own cost formula. Prints a line for each recorded run
// and one for all its inter-stage programs.
//
// Usage: TANGRAM_REFERENCE_DATA=<folder> mist_bench

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "absl/functional/function_ref.h"
#include "tests/parity/mist_reference.h"
#include "tests/parity/mist_runs.h"
#include "tests/parity/mist_tuning.h"
#include "tests/parity/reference_data.h"

namespace tangram::mist::reference {
namespace {

// Returns the least time of a few runs, because other programs run too.
double Seconds(absl::FunctionRef<void()> run) {
  using Clock = std::chrono::steady_clock;
  double least_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    least_s = std::min(
        least_s, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least_s;
}

void SolveAll(const std::vector<InterStageMilp>& milps) {
  for (const InterStageMilp& milp : milps) {
    ChoosePolicies(
        {.num_layers = milp.num_layers,
         .num_stages = milp.num_stages,
         .option = [&](int stage, int begin, int end) -> StageOption {
           const auto found = milp.policies[stage].find(end - begin);
           if (found == milp.policies[stage].end()) return {};
           return {.policies = found->second};
         },
         .slowest_bound_s = milp.slowest_bound_s});
  }
}

int Main() {
  const auto golden =
      tangram::testing::ReadReferenceData("mist/golden_runs_here.json");
  const auto hardware = tangram::testing::ReadReferenceData(
      "mist/hardware_comm_and_interference.json");
  const auto archive =
      tangram::testing::ReadReferenceText("mist/inter_stage_milp_mps.tar.gz");
  if (!golden || !hardware || !archive) {
    std::printf("skipped: %s\n", tangram::testing::kNoReferenceData);
    return 0;
  }
  std::printf("%-34s %10s %10s %9s %9s\n", "run", "ours s", "upstream s",
              "faster", "plan");
  for (const RecordedRun& run : ReadRuns(*golden, *hardware)) {
    TunedPipeline ours;
    const double seconds = Seconds([&] { ours = Tune(run.tuning); });
    std::printf("%-34s %10.5f %10.1f %8.0fx %9.6f\n", run.name.c_str(), seconds,
                run.tuning_s, run.tuning_s / seconds,
                ours.iteration_s / IterationSeconds(run.tuning, run.plan));
  }
  const std::vector<InterStageMilp> milps = ReadMilps(*archive);
  const double seconds = Seconds([&] { SolveAll(milps); });
  std::printf("%-34s %10.5f\n", "28 inter-stage programs", seconds);
  return 0;
}

}  // namespace
}  // namespace tangram::mist::reference

int main() { return tangram::mist::reference::Main(); }
