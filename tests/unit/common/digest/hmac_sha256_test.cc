#include "common/digest/hmac_sha256.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

// Test case 2 of RFC 4231.
TEST(HmacSha256Test, IsThatOfTheStandard) {
  EXPECT_EQ(absl::BytesToHexString(
                HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace tangram
