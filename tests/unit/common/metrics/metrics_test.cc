#include "common/metrics/metrics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/http_get.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(MetricsTest, ServesWhatWasCounted) {
  Metrics metrics;
  Counter plans = metrics.AddCounter("plans_total", "Plans.");
  plans.Add({{"code", "ok"}});
  plans.Add({{"code", "ok"}}, 2);
  metrics.AddGauge("depth", "Depth.").Set({}, 7);
  metrics.AddDurations("wall_seconds", "Wall time.").Observe({}, 0.02);
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));

  const std::string page = testing::HttpGet(port, "/metrics");
  EXPECT_THAT(page, HasSubstr("plans_total{code=\"ok\"} 3"));
  EXPECT_THAT(page, HasSubstr("depth 7"));
  EXPECT_THAT(page, HasSubstr("wall_seconds_bucket{le=\"0.01\"} 0"));
  EXPECT_THAT(page, HasSubstr("wall_seconds_bucket{le=\"0.03\"} 1"));
  EXPECT_THAT(page, HasSubstr("tangram_build_info{version=\""));
}

TEST(MetricsTest, APortInUseIsAnError) {
  Metrics first;
  ASSERT_OK_AND_ASSIGN(const int port, first.Serve("127.0.0.1:0"));
  Metrics second;
  EXPECT_THAT(second.Serve(absl::StrCat("127.0.0.1:", port)),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot serve metrics on 127.0.0.1:")));
}

}  // namespace
}  // namespace tangram
