// Runs our version of Aceso's search on the questions of upstream's recorded
// searches. Both use the same measured operators, and upstream's cost formula
// scores the plans. Prints a line for each recorded search with the times of
// the plans over upstream's, and each stage count.
//
// Our time is for the stage counts that upstream searched, with all microbatch
// sizes and memory guesses. Upstream has two times: the CPU time until the best
// plan was found, as though it had searched that stage count alone, and the CPU
// time of all its searches.
//
// Usage: TANGRAM_REFERENCE_DATA=<folder> aceso_bench

#include <cstdio>
#include <ctime>

#include "tests/parity/aceso_reference.h"
#include "tests/parity/aceso_search.h"
#include "tests/parity/reference_data.h"

namespace tangram::aceso::reference {
namespace {

double CpuSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void Compare(const RecordedSearch& recorded) {
  const double start_s = CpuSeconds();
  const auto plans = AskOurs(recorded);
  const double ours_s = CpuSeconds() - start_s;
  const ScoredPlan* fastest = FastestOf(recorded, plans);
  if (fastest == nullptr) {
    std::printf("%-34s %8s\n", recorded.name.c_str(), "none");
    return;
  }
  const double fastest_ms = ScoreOf(recorded.setting, *fastest).iteration_ms;
  const RecordedStageCount& theirs = recorded.fastest();
  std::printf("%-34s %8.4f %8.3f %8.1f %7.0fx %8.1f %7.0fx\n",
              recorded.name.c_str(), fastest_ms / theirs.iteration_ms, ours_s,
              theirs.cpu_s_to_best, theirs.cpu_s_to_best / ours_s,
              recorded.cpu_s(), recorded.cpu_s() / ours_s);
  for (const RecordedStageCount& count : recorded.stage_counts) {
    const auto ours = plans.find(count.num_stages);
    if (ours == plans.end()) {
      std::printf("  %2d stages %31s\n", count.num_stages, "none");
      continue;
    }
    std::printf("  %2d stages %31.4f\n", count.num_stages,
                ScoreOf(recorded.setting, ours->second).iteration_ms /
                    count.iteration_ms);
  }
}

int Main() {
  const std::vector<RecordedSearch> searches = ReadSearches();
  if (searches.empty()) {
    std::printf("skipped: %s\n", tangram::testing::kNoReferenceData);
    return 0;
  }
  std::printf("%-34s %8s %8s %8s %8s %8s %8s\n", "search", "plan", "ours s",
              "to best", "faster", "all s", "faster");
  for (const RecordedSearch& recorded : searches) Compare(recorded);
  return 0;
}

}  // namespace
}  // namespace tangram::aceso::reference

int main() { return tangram::aceso::reference::Main(); }
