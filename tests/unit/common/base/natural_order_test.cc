#include "common/base/natural_order.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(NaturalLessTest, OrdersAsPeopleNumberThings) {
  const std::vector<std::string> ordered = {
      "",     "a",    "a0",   "a01",    "a1x",   "a2",     "a10",
      "a10b", "a10c", "b9-9", "b9-10x", "b10-1", "b10-01x"};
  for (size_t i = 0; i < ordered.size(); ++i) {
    for (size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(NaturalLess(ordered[i], ordered[j]), i < j)
          << ordered[i] << " " << ordered[j];
    }
  }
}

TEST(NaturalLessTest, EqualValuesFallBackToCharacters) {
  EXPECT_TRUE(NaturalLess("n01", "n1"));
  EXPECT_FALSE(NaturalLess("n1", "n01"));
  EXPECT_TRUE(NaturalLess("n99999999999999999998", "n99999999999999999999"));
}

}  // namespace
}  // namespace tangram
