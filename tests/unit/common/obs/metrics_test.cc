#include "common/obs/metrics.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::string Scrape(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in server = {};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(port));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string response;
  if (connect(fd, reinterpret_cast<sockaddr*>(&server), sizeof(server)) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    (void)!write(fd, request.data(), request.size());
    char buffer[4096];
    for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
      response.append(buffer, n);
    }
  }
  close(fd);
  return response;
}

TEST(MetricsTest, ServesWhatWasCounted) {
  Metrics metrics;
  Counter plans = metrics.AddCounter("plans_total", "Plans.");
  plans.Add({{"code", "ok"}});
  plans.Add({{"code", "ok"}}, 2);
  metrics.AddGauge("depth", "Depth.").Set({}, 7);
  metrics.AddDurations("wall_seconds", "Wall time.").Observe({}, 0.02);
  ASSERT_OK_AND_ASSIGN(const int port, metrics.Serve("127.0.0.1:0"));

  const std::string page = Scrape(port);
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
