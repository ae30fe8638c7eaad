#include "common/band/framework_family.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(FrameworkFamilyTest, ReleasesThatRunAlikeHaveOneName) {
  EXPECT_EQ(FrameworkFamily("NVIDIA NeMo 24.07"), "Bridge");
  EXPECT_EQ(FrameworkFamily("PyTorch 2.1, Megatron-LM core 0.5"),
            "Megatron-Core");
  EXPECT_EQ(FrameworkFamily("Megatron-LM v2.4"), "Megatron-LM");
  EXPECT_EQ(FrameworkFamily("PyTorch 2.1"), "");
}

TEST(FrameworkFamilyTest, OnlyKnownFrameworksAreUnlike) {
  EXPECT_TRUE(AreUnlikeFrameworks("Megatron-Core", "torchtitan"));
  EXPECT_FALSE(AreUnlikeFrameworks("MCore 0.8", "Megatron-Core"));
  EXPECT_FALSE(AreUnlikeFrameworks("", "torchtitan"));
  EXPECT_FALSE(AreUnlikeFrameworks("PyTorch 2.1", "torchtitan"));
}

}  // namespace
}  // namespace tangram
