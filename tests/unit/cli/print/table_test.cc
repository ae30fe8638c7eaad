#include "cli/print/table.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(TableTest, AlignsColumns) {
  Table table({{"#", Table::kRight}, {"island"}, {"time", Table::kRight}});
  table.AddRow({"0", "T4 x8", "9 ms"});
  table.AddRow({"10", "A", "123 ms"});

  EXPECT_EQ(table.ToString(),
            "   #  island    time\n"
            "   0  T4 x8     9 ms\n"
            "  10  A       123 ms\n");
}

TEST(TableTest, LeavesOutEmptyColumns) {
  Table table({{"tp"}, {"ep"}, {"dp"}});
  table.AddRow({"1", "", "2"});

  EXPECT_EQ(table.ToString(), "  tp  dp\n  1   2\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({{"a"}, {"b"}});
  table.AddRow({"5 µs", "x"});
  table.AddRow({"5 ms", "y"});

  EXPECT_EQ(table.ToString(), "  a     b\n  5 µs  x\n  5 ms  y\n");
}

TEST(TableTest, ControlCharactersAreEscaped) {
  Table table({{"made by"}});
  table.AddRow({"x\x1b[2J"});
  EXPECT_EQ(table.ToString(), "  made by\n  x\\x1b[2J\n");
}

TEST(WrapTextTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(WrapText("a\x1b[2J b\a", /*indent=*/2, /*width=*/40),
            "  a\\x1b[2J b\\x07\n");
}

TEST(WrapTextTest, BreaksBetweenWords) {
  EXPECT_EQ(WrapText("one two three", /*indent=*/2, /*width=*/9),
            "  one two\n    three\n");
}

TEST(WrapTextTest, KeepsLongWordsWhole) {
  EXPECT_EQ(WrapText("a incomprehensible b", /*indent=*/0, /*width=*/5),
            "a\n  incomprehensible\n  b\n");
}

}  // namespace
}  // namespace tangram
