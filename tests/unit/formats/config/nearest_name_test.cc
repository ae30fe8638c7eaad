#include "formats/config/nearest_name.h"

#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(NearestNameTest, ForgivesAThirdOfTheLetters) {
  constexpr absl::string_view kKnown[] = {"memory", "memory_bandwidth", "gpu",
                                          "gpus_per_node"};
  EXPECT_EQ(NearestName("memroy", kKnown), "memory");  // A swap.
  EXPECT_EQ(NearestName("gpu_per_node", kKnown), "gpus_per_node");
  EXPECT_EQ(NearestName("gpus", kKnown), "gpu");
  EXPECT_EQ(NearestName("bandwidth", kKnown), "");
  EXPECT_EQ(NearestName("xyz", kKnown), "");
  EXPECT_EQ(NearestName(std::string(1'000'000, 'm'), kKnown), "");
}

TEST(DidYouMeanTest, AsksOnlyIfANameIsNear) {
  EXPECT_EQ(DidYouMean("paln", {"plan", "compare"}), "; did you mean plan?");
  EXPECT_EQ(DidYouMean("zebra", {"plan", "compare"}), "");
}

}  // namespace
}  // namespace tangram
