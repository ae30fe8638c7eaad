#include "coordinator/webhooks/webhook_signature.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

// The example of the Standard Webhooks specification.
TEST(WebhookSignatureTest, SignsAsStandardWebhooksDoes) {
  std::string key;
  ASSERT_TRUE(absl::Base64Unescape("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &key));
  EXPECT_EQ(SignWebhook(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                        "{\"test\": 2432232314}"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignatureTest, EachTenantHasAKeyOfItsOwn) {
  const std::string key = WebhookKeyOf("secret", "team-a");
  EXPECT_EQ(key.size(), 32);
  EXPECT_NE(key, WebhookKeyOf("secret", "team-b"));
  EXPECT_NE(key, WebhookKeyOf("another", "team-a"));
  EXPECT_EQ(WebhookKeyText("abc"), "whsec_YWJj");
}

}  // namespace
}  // namespace tangram
