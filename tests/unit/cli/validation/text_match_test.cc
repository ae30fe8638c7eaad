#include "cli/validation/text_match.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(MentionsTest, IgnoresCase) {
  EXPECT_TRUE(Mentions("Megatron-LM v1.1.5", "megatron-lm"));
  EXPECT_TRUE(Mentions("nvlink2", "NVLink"));
  EXPECT_FALSE(Mentions("PCIe", "NVLink"));
}

}  // namespace
}  // namespace tangram
