// Sailor against the recorded runs of its released planner.

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "coordinator/planners/rivals/sailor/sailor_search.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/sailor_runs.h"
#include "tests/testing/status_matchers.h"

namespace tangram::sailor {
namespace {

Found SearchFor(const Input& input, const Settings& settings = {}) {
  const absl::StatusOr<Found> found =
      Search(input, settings, [] { return false; });
  EXPECT_THAT(found, testing::IsOk());
  return found.ok() ? *found : Found();
}

Settings Upstream() {
  Settings settings;
  settings.rules = UpstreamRules();
  return settings;
}

// The runs have four digits.
std::string FourDigits(double seconds) {
  return absl::StrFormat("%.4g", seconds);
}

TEST(SailorParityTest, UpstreamRulesGiveThePlansOfTheReleasedPlanner) {
  const std::vector<ReferenceRun> runs = ReadReferenceRuns();
  if (runs.empty()) GTEST_SKIP() << testing::kNoReferenceData;
  for (const ReferenceRun& run : runs) {
    SCOPED_TRACE(run.model + " on " + run.cluster);
    const Input input = InputOf(run);
    const Found found = SearchFor(input, Upstream());
    ASSERT_FALSE(found.plans.empty());
    EXPECT_EQ(Describe(found.plans.front(), input), run.plan);
    EXPECT_EQ(FourDigits(found.plans.front().iteration_s), run.iteration_s);
    EXPECT_EQ(static_cast<int>(found.plans.size()), run.num_plans);
  }
}

// The mended search has all choices of the released one and more. It also
// counts the optimizer step and takes no rate above the highest measured, which
// is 0.1 to 1.7 % of these times.
TEST(SailorParityTest, MendedRulesAreNotSlower) {
  const std::vector<ReferenceRun> runs = ReadReferenceRuns();
  if (runs.empty()) GTEST_SKIP() << testing::kNoReferenceData;
  for (const ReferenceRun& run : runs) {
    SCOPED_TRACE(run.model + " on " + run.cluster);
    const Found found = SearchFor(InputOf(run));
    ASSERT_FALSE(found.plans.empty());
    EXPECT_LE(found.plans.front().iteration_s,
              1.017 * std::stod(run.iteration_s));
  }
}

}  // namespace
}  // namespace tangram::sailor
