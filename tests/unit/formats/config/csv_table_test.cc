#include "formats/config/csv_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBadInput;
using ::testing::SizeIs;
using testing::StatusIs;

TEST(ParseCsvTest, FirstLineNamesTheColumns) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table, ParseCsv("a,b\n1,2\n3,4", "x"));

  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1", "2"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("3", "4"));
  EXPECT_EQ(table.ColumnIndex("b"), 1);
  EXPECT_EQ(table.ColumnIndex("c"), -1);
}

TEST(ParseCsvTest, EmptyCellsAreCells) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table, ParseCsv("a,b,c\n,\"\",\n", "x"));

  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("", "", ""));
}

TEST(ParseCsvTest, QuotedCellsHoldCommasAndDoubledQuotes) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       ParseCsv("a,b\n\"1, \"\"one\"\"\",2\n", "x"));

  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1, \"one\"", "2"));
}

TEST(ParseCsvTest, QuotedCellsHoldLineEndsAndLinesAreCountedOn) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       ParseCsv("a,b\n\"1\n# 2\",3\n4,5\n", "x"));

  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1\n# 2", "3"));
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[1].line, 4);
}

TEST(ParseCsvTest, LinesMayEndInCarriageReturns) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       ParseCsv("a,b\r\n1,2\r\n\r\n\"3\",\"4\"\r\n", "x"));

  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1", "2"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("3", "4"));
  EXPECT_EQ(table.rows[1].line, 4);
}

TEST(ParseCsvTest, CommentsAndBlankLinesAreSkippedButCounted) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       ParseCsv("# \"runs\na,b\n\n# of\n1,#2\n# end", "x"));

  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1", "#2"));
  EXPECT_EQ(table.rows[0].line, 5);
}

TEST(ParseCsvTest, ATableMayHaveNoRows) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table, ParseCsv("a,b", "x"));

  EXPECT_THAT(table.rows, IsEmpty());
}

TEST(ParseCsvTest, RowsHaveAsManyCellsAsTheHeader) {
  ASSERT_OK_AND_ASSIGN(
      const CsvTable table,
      ParseCsv("a,b\n\"1\n1\",2\n3\n4,5\n6,7,8\n", "runs.csv"));

  EXPECT_THAT(
      table.bad_rows,
      ElementsAre("runs.csv: line 4: 1 cells; expected 2, as in the header",
                  "runs.csv: line 6: 3 cells; expected 2, as in the header"));
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("4", "5"));
}

TEST(ParseCsvTest, AnOpenQuoteIsReportedWhereItOpens) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       ParseCsv("a,b\n1,\"2\n3,4\n5,6\n", "runs.csv"));

  EXPECT_THAT(table.bad_rows,
              ElementsAre("runs.csv: line 2: a quoted cell without its closing "
                          "quote"));
  // Reading goes on at the next line.
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("3", "4"));
  EXPECT_EQ(table.rows[0].line, 3);
}

TEST(ParseCsvTest, NothingFollowsAClosingQuote) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       ParseCsv("a,b\n\"1\"x,2\n3,4\n", "runs.csv"));

  EXPECT_THAT(table.bad_rows,
              ElementsAre("runs.csv: line 2: text after a closing quote"));
  EXPECT_THAT(table.rows, SizeIs(1));
}

TEST(ParseCsvTest, TheHeaderMustBeARow) {
  EXPECT_THAT(ParseCsv("a,\"b\n1,2\n", "runs.csv"),
              StatusIs(kBadInput, HasSubstr("runs.csv: line 1: a quoted")));
}

TEST(ParseCsvTest, NeedsAHeader) {
  EXPECT_THAT(ParseCsv("", "runs.csv"),
              StatusIs(kBadInput, HasSubstr("runs.csv: line 1: no header")));
  EXPECT_THAT(ParseCsv("# nothing\n", "runs.csv"),
              StatusIs(kBadInput, HasSubstr("no header line")));
}

}  // namespace
}  // namespace tangram
