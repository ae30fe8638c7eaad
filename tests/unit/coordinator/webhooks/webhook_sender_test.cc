#include "coordinator/webhooks/webhook_sender.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(PostWebhookTest, PrivateAddressesAreRefusedWhateverTheirForm) {
  for (const char* url :
       {"https://127.0.0.1:1/", "https://localhost:1/", "https://[::1]:1/",
        "https://2130706433:1/", "https://0x7f.1:1/"}) {
    EXPECT_THAT(
        PostWebhook({.url = url, .timeout_s = 2}),
        StatusIs(absl::StatusCode::kUnavailable, HasSubstr("private network")))
        << url;
  }
}

TEST(PostWebhookTest, OnlyHttpIsSpoken) {
  for (const char* url : {"file:///etc/passwd", "http://1.1.1.1/",
                          "gopher://1.1.1.1/", "ftp://1.1.1.1/"}) {
    EXPECT_THAT(PostWebhook({.url = url, .timeout_s = 2}),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("Unsupported protocol")))
        << url;
  }
}

}  // namespace
}  // namespace tangram
