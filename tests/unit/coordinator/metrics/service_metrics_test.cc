#include "coordinator/metrics/service_metrics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/http_get.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Workers choose the names of their adapters, so they must not choose the
// number of series.
TEST(ServiceMetricsTest, AdaptersBeyondTheLimitShareTheirSeries) {
  Metrics metrics;
  ServiceMetrics service(metrics);
  for (int i = 0; i < 2000; ++i) service.OnAdapter(absl::StrCat("a", i));
  service.OnQuery("a7", QueryEvent::kAnswered);
  service.OnQuery("a1999", QueryEvent::kAnswered);
  service.OnRejection(
      {.name = "w", .adapter = "a1999", .reason = RejectionReason::kError});
  service.OnRejection({.name = "w", .reason = RejectionReason::kDigest});
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  const std::string text = testing::HttpGet(port, "/metrics");
  EXPECT_THAT(text, HasSubstr("tangram_queries_total{adapter=\"a7\","
                              "state=\"answered\"} 1"));
  EXPECT_THAT(text, HasSubstr("tangram_queries_total{adapter=\"other\","
                              "state=\"answered\"} 1"));
  EXPECT_THAT(text, HasSubstr("tangram_rejected_answers_total{adapter="
                              "\"other\",reason=\"error\"} 1"));
  EXPECT_THAT(text, HasSubstr("tangram_rejected_answers_total{adapter="
                              "\"unknown\",reason=\"digest\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("a1999")));
}

// Otherwise a worker with many names could hide what the others do.
TEST(ServiceMetricsTest, TheUsualAdaptersAlwaysHaveTheirSeries) {
  Metrics metrics;
  ServiceMetrics service(metrics, {"uniform"});
  for (int i = 0; i < 2000; ++i) service.OnAdapter(absl::StrCat("a", i));
  service.OnAdapter("uniform");
  service.OnQuery("uniform", QueryEvent::kAnswered);
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));
  EXPECT_THAT(testing::HttpGet(port, "/metrics"),
              HasSubstr("tangram_queries_total{adapter=\"uniform\","
                        "state=\"answered\"} 1"));
}

}  // namespace
}  // namespace tangram
