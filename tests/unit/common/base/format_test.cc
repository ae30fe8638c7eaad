#include "common/base/format.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(FormatTest, SecondsHaveThreeDigits) {
  EXPECT_EQ(FormatSeconds(12.34), "12.3 s");
  EXPECT_EQ(FormatSeconds(0.4314), "431 ms");
  EXPECT_EQ(FormatSeconds(2.5e-6), "2.50 µs");
  EXPECT_EQ(FormatSeconds(0), "0.00 µs");
}

TEST(FormatTest, RoundsUpIntoTheNextUnit) {
  EXPECT_EQ(FormatSeconds(0.9996), "1.00 s");
  EXPECT_EQ(FormatSeconds(9.996), "10.0 s");
  EXPECT_EQ(FormatBytes(999.6e6), "1.00 GB");
}

TEST(FormatTest, UnitsAreDecimal) {
  EXPECT_EQ(FormatBytes(15.8e9), "15.8 GB");
  EXPECT_EQ(FormatBytes(12), "0.01 kB");
  EXPECT_EQ(FormatBandwidth(5.9e9), "5.90 GB/s");
  EXPECT_EQ(FormatCount(6.66e9), "6.66 billion");
}

TEST(FormatTest, GroupsThousands) {
  EXPECT_EQ(FormatThousands(0), "0");
  EXPECT_EQ(FormatThousands(999), "999");
  EXPECT_EQ(FormatThousands(1000), "1,000");
  EXPECT_EQ(FormatThousands(-1234567), "-1,234,567");
}

TEST(FormatTest, OneItemIsSingular) {
  EXPECT_EQ(FormatItems(1, "node"), "1 node");
  EXPECT_EQ(FormatItems(2000, "node"), "2,000 nodes");
}

TEST(FormatTest, PercentTakesAFraction) {
  EXPECT_EQ(FormatPercent(0.1234), "12.3 %");
}

TEST(FormatTest, ComparesTimes) {
  EXPECT_EQ(FormatBeside(11, 10), "11.0 s, 10.0 % longer");
  EXPECT_EQ(FormatBeside(10, 10), "10.0 s, 0.0 % longer");
  EXPECT_EQ(FormatBeside(9, 10), "9.00 s, 10.0 % shorter");
}

}  // namespace
}  // namespace tangram
