#include "formats/import_cluster/hostlist.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ExpandHostlistTest, CountsThroughBrackets) {
  EXPECT_THAT(ExpandHostlist("a,n[08-10,3]x"),
              IsOkAndHolds(ElementsAre("a", "n08x", "n09x", "n10x", "n3x")));
  EXPECT_THAT(ExpandHostlist("r[1-2]n[1-2]"),
              IsOkAndHolds(ElementsAre("r1n1", "r1n2", "r2n1", "r2n2")));
}

TEST(ExpandHostlistTest, RefusesBadGrammar) {
  for (const std::string text :
       {"", "a,,b", "n[", "n[1-]", "n[2-1]", "n[a-b]", "n[]"}) {
    EXPECT_THAT(ExpandHostlist(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected a list of nodes")))
        << text;
  }
}

TEST(ExpandHostlistTest, RefusesMoreThanAClusterMayHave) {
  EXPECT_THAT(ExpandHostlist("n[00001-99999]"), IsOkAndHolds(SizeIs(99'999)));
  for (const std::string text :
       {"n[1-999999999]", "n[1-400]m[1-400]", "n[1-99999],n[1-99999]"}) {
    EXPECT_THAT(ExpandHostlist(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("at most 100000 nodes")))
        << text;
  }
}

}  // namespace
}  // namespace tangram
