// The main() of test binaries. Unlike gtest's, it tells ctest about skipped
// cases.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/match.h"

namespace {

// SKIP_RETURN_CODE of tests/CMakeLists.txt, as in Automake.
constexpr int kSkipped = 77;
// Prefix of the reason of a case that is not meant for its parameter or this
// machine. Nothing is missing then.
constexpr char kNotApplicable[] = "not applicable: ";

// Counts the cases that are skipped because something is missing.
class SkipReport : public ::testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.skipped()) return;
    const std::string reason = result.message();
    if (!absl::StrContains(reason, kNotApplicable)) ++cases_[reason];
  }

  // Prints the lines that scripts/skipped collects. Returns whether there were
  // any.
  bool Print(int num_run) const {
    for (const auto& [reason, count] : cases_) {
      std::printf("skipped: %d of %d cases: %s\n", count, num_run,
                  reason.c_str());
    }
    return !cases_.empty();
  }

 private:
  std::map<std::string, int> cases_;  // By reason.
};

}  // namespace

// Returns 1 if a case failed, else 77 if one was skipped, else 0.
int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  auto* const skips = new SkipReport;  // The listeners own it.
  tests.listeners().Append(skips);
  const int failed = RUN_ALL_TESTS();
  const bool has_skipped = skips->Print(tests.test_to_run_count());
  if (failed != 0) return failed;
  return has_skipped ? kSkipped : 0;
}
