// Plans random small instances and variations of them, and looks for answers
// that contradict each other: a plan for more that is slower than that for
// less. See variations.h.
//
//   challenge_instances [--instances N] [--seed N] [--checks NAME,...]
//       [--parallelizers NAME,...|all|any] [--min_island_gain FRACTION]
//       [--keep FOLDER] [--first N]
//
// Each instance is planned with one drawn name of --parallelizers, with all of
// them together, or as without --parallelizer (any). Prints a line for each
// violation, then a table of the checks. With --keep, each violation gets a
// folder with its files and the two commands that show it. Ends with 1 if there
// was a violation, with 2 on an error.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "tests/bench/challenger/instances/plan_instances.h"
#include "tests/bench/challenger/instances/survey.h"

ABSL_FLAG(int, instances, 100, "Instances to draw.");
ABSL_FLAG(int, first, 0, "The first of them; those before are left out.");
ABSL_FLAG(int, seed, 1, "Seed of the instances.");
ABSL_FLAG(std::vector<std::string>, checks, {}, "Checks; empty: all.");
ABSL_FLAG(std::vector<std::string>, parallelizers,
          std::vector<std::string>({"aceso", "alpa", "galvatron", "hypertron",
                                    "mist", "uniform"}),
          "Parallelizers to draw from, or any.");
ABSL_FLAG(double, min_island_gain, tangram::TangramOptions().min_island_gain,
          "As of tangram plan.");
ABSL_FLAG(double, tolerance, 0.005, "Fraction that is no violation.");
ABSL_FLAG(std::string, keep, "", "Folder for violations.");

namespace tangram::bench {
namespace {

constexpr int kViolated = 1;
constexpr int kFailed = 2;

// Each instance has its own seed, so that one can be drawn alone.
uint64_t SeedOf(int instance) {
  return (static_cast<uint64_t>(absl::GetFlag(FLAGS_seed)) << 32) +
         static_cast<uint64_t>(instance);
}

std::string CommandOf(const Instance& instance, const std::string& name) {
  return absl::StrCat("tangram plan --cluster ", name,
                      ".yaml --model model.yaml ", ArgumentsOf(instance),
                      " --memory-margin 0 --min-island-gain ",
                      absl::GetFlag(FLAGS_min_island_gain), "\n");
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

void Keep(const Violation& violation, const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(absl::GetFlag(FLAGS_keep)) / name;
  std::filesystem::create_directories(folder);
  WriteFile(folder / "less.yaml", ClusterText(violation.less));
  WriteFile(folder / "more.yaml", ClusterText(violation.more));
  WriteFile(folder / "model.yaml", ModelText(violation.more));
  WriteFile(folder / "commands", CommandOf(violation.less, "less") +
                                     CommandOf(violation.more, "more"));
}

absl::StatusOr<bool> Run() {
  std::vector<std::string> parallelizers = absl::GetFlag(FLAGS_parallelizers);
  if (parallelizers == std::vector<std::string>{"any"}) parallelizers.clear();
  const TangramOptions options{.min_island_gain =
                                   absl::GetFlag(FLAGS_min_island_gain)};
  Survey survey(PlanInProcess(options), absl::GetFlag(FLAGS_checks),
                absl::GetFlag(FLAGS_tolerance));
  bool is_violated = false;
  const int first = absl::GetFlag(FLAGS_first);
  for (int i = first; i < first + absl::GetFlag(FLAGS_instances); ++i) {
    Draw draw(SeedOf(i));
    const Instance instance = DrawInstance(draw, parallelizers);
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<Violation> violations,
                             survey.Check(instance));
    for (size_t v = 0; v < violations.size(); ++v) {
      const Violation& violation = violations[v];
      const std::string name = absl::StrCat(violation.check, "-", i, "-", v);
      std::printf("%-16s %6.1f %%  %-28s %s\n", name.c_str(),
                  100 * violation.loss, violation.what.c_str(),
                  instance.parallelizers.c_str());
      std::fflush(stdout);
      if (!absl::GetFlag(FLAGS_keep).empty()) Keep(violation, name);
    }
    is_violated |= !violations.empty();
  }
  std::printf("%sCPU %.1f s\n", Describe(survey.tallies()).c_str(),
              static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  return is_violated;
}

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("challenge_instances --instances N");
  absl::ParseCommandLine(argc, argv);
  const absl::StatusOr<bool> is_violated = tangram::bench::Run();
  if (!is_violated.ok()) {
    std::fprintf(stderr, "%s\n",
                 std::string(is_violated.status().message()).c_str());
    return tangram::bench::kFailed;
  }
  return *is_violated ? tangram::bench::kViolated : 0;
}
