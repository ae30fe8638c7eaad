#include "common/obs/sparse_warning.h"

#include <cstddef>
#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(SparseTimesTest, TheFirstIsToldAndThenOneAMinuteWithTheNumber) {
  SparseTimes times;
  EXPECT_EQ(times.Note(1000), 1);
  EXPECT_EQ(times.Note(1001), std::nullopt);
  EXPECT_EQ(times.Note(1059), std::nullopt);
  EXPECT_EQ(times.Note(1060), 3);
  EXPECT_EQ(times.Note(1119), std::nullopt);
  EXPECT_EQ(times.Note(5000), 2);
}

TEST(SparseKindsTest, EachKindIsToldByItself) {
  SparseKinds kinds;
  EXPECT_EQ(kinds.Note("a"), 1);
  EXPECT_EQ(kinds.Note("a"), std::nullopt);
  EXPECT_EQ(kinds.Note("b"), 1);
}

TEST(SparseKindsTest, KindsBeyondTheLimitCountAsOne) {
  SparseKinds kinds;
  for (size_t i = 0; i < SparseKinds::kMaxKinds; ++i) {
    EXPECT_EQ(kinds.Note(std::to_string(i)), 1);
  }
  EXPECT_EQ(kinds.Note("one more"), 1);
  EXPECT_EQ(kinds.Note("and another"), std::nullopt);
  EXPECT_EQ(kinds.Note("0"), std::nullopt);  // Known before.
}

}  // namespace
}  // namespace tangram
