#include "cli/print/print_certificate.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;

std::string PrintedCertificate(const PlanResult& result) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err, .width = 100};
  PrintCertificate(result, console);
  return out.str();
}

PlanResult TwoSeconds() {
  PlanResult result;
  result.evaluation.iteration_time_s = 2;
  return result;
}

TEST(PrintCertificateTest, PrintsTheGapToEachScope) {
  PlanResult result = TwoSeconds();
  result.lower_bound_s = 2;
  result.certificate = Certificate{.asked_s = 1.6, .any_plan_s = 1.25};
  EXPECT_EQ(
      PrintedCertificate(result),
      "  certificate      at most 0.0 % above any composition of the slice "
      "plans (2.00 s or more)\n"
      "                   at most 25.0 % above any 1F1B pipeline of the "
      "parallelizers (1.60 s or more)\n"
      "                   at most 60.0 % above any plan at all, by compute "
      "and memory (1.25 s or more)\n");
}

TEST(PrintCertificateTest, SaysWhereNothingIsProven) {
  PlanResult result = TwoSeconds();
  result.certificate = Certificate{.any_plan_s = 1.25};
  EXPECT_EQ(
      PrintedCertificate(result),
      "  certificate      nothing is proven about any composition of the "
      "slice plans\n"
      "                   nothing is proven about any 1F1B pipeline of the "
      "parallelizers\n"
      "                   at most 60.0 % above any plan at all, by compute "
      "and memory (1.25 s or more)\n");
}

TEST(PrintCertificateTest, APolishedPlanMayBeFasterThanItsParallelizersPlans) {
  PlanResult result = TwoSeconds();
  result.certificate = Certificate{.asked_s = 2.5, .any_plan_s = 1.25};
  EXPECT_THAT(PrintedCertificate(result),
              HasSubstr("   below any 1F1B pipeline of the parallelizers "
                        "(2.50 s or more)\n"));
}

TEST(PrintCertificateTest, OlderFilesHaveOneScopeOrNone) {
  PlanResult result = TwoSeconds();
  EXPECT_EQ(PrintedCertificate(result), "");
  result.lower_bound_s = 1.6;
  EXPECT_EQ(PrintedCertificate(result),
            "  certificate      at most 25.0 % above any composition of the "
            "slice plans (1.60 s or more)\n");
}

}  // namespace
}  // namespace tangram
