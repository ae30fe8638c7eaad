#include "cli/print/table.h"

#include <string>
#include <vector>

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

TEST(TableTest, DropsColumnsUntilItFits) {
  Table table({{"stage"},
               {.title = "made by", .drop = 2},
               {.title = "pp", .drop = 1},
               {.title = "empty", .drop = 3}});
  table.AddRow({"0", "aceso", "1/2", ""});

  EXPECT_EQ(table.ToString(21),
            "  stage  made by  pp\n  0      aceso    1/2\n");
  EXPECT_EQ(table.ToString(20), "  stage  pp\n  0      1/2\n");
  EXPECT_EQ(table.ToString(5), "  stage\n  0\n");
  EXPECT_EQ(table.DroppedAt(21), std::vector<std::string>());
  EXPECT_EQ(table.DroppedAt(20), std::vector<std::string>({"made by"}));
}

TEST(TableTest, CutsTheMiddleOfElasticCells) {
  Table table({{"#"}, {.title = "where", .is_elastic = true}});
  table.AddRow({"0", "p4d.24xlarge-0..p4d.24xlarge-1"});
  table.AddRow({"1", "t4-0"});

  EXPECT_EQ(table.ToString(20),
            "  #  where\n  0  p4d.24..large-1\n  1  t4-0\n");
  // No cell becomes shorter than eight columns.
  EXPECT_EQ(table.ToString(8), "  #  where\n  0  p4d..e-1\n  1  t4-0\n");
}

TEST(TableTest, CutsBetweenCharacters) {
  Table table({{.title = "a", .is_elastic = true}});
  table.AddRow({"µµµµµµµµµµµµ"});

  EXPECT_EQ(table.ToString(11), "  a\n  µµµ..µµµµ\n");
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
