#include "formats/import_profile/text_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(TextTableTest, ReadsCellsByColumn) {
  ASSERT_OK_AND_ASSIGN(
      const TextTable table,
      TextTable::Parse("# note\n\na, b\r\n1,two\n 3 ,4.5\n", "t.csv"));
  EXPECT_EQ(table.num_rows(), 2);
  EXPECT_TRUE(table.Has("b"));
  EXPECT_FALSE(table.Has("c"));
  EXPECT_EQ(table.Text(0, "b"), "two");
  EXPECT_EQ(table.Text(0, "c"), "");
  EXPECT_THAT(table.Count(1, "a"), IsOkAndHolds(3));
  EXPECT_THAT(table.Number(1, "b"), IsOkAndHolds(4.5));
}

TEST(TextTableTest, ErrorsNameLineColumnAndValue) {
  ASSERT_OK_AND_ASSIGN(const TextTable table,
                       TextTable::Parse("a,b\n1,-2\n0,nan\n", "t.csv"));
  EXPECT_THAT(table.Number(0, "b"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("t.csv: line 2: b: -2; expected a number")));
  EXPECT_THAT(table.Number(1, "b"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nan")));
  EXPECT_THAT(table.Count(1, "a"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 3: a: 0; expected a positive integer")));
  EXPECT_THAT(TextTable::Parse("", "t.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("t.csv: empty; expected a table")));
}

}  // namespace
}  // namespace tangram
