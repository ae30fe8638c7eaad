#include "common/parallelizer/parallelizer_list.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitParallelizerListTest, CommasSeparateNames) {
  EXPECT_THAT(SplitParallelizerList("mist"), IsOkAndHolds(ElementsAre("mist")));
  EXPECT_THAT(SplitParallelizerList("mist, aceso"),
              IsOkAndHolds(ElementsAre("mist", "aceso")));
}

TEST(SplitParallelizerListTest, ACommandMayHoldCommas) {
  EXPECT_THAT(SplitParallelizerList("exec:plan --sizes 1,2"),
              IsOkAndHolds(ElementsAre("exec:plan --sizes 1,2")));
}

TEST(SplitParallelizerListTest, EmptyAndRepeatedNamesAreErrors) {
  for (const char* list : {"", "aceso,", ",aceso", "aceso,mist,aceso"}) {
    EXPECT_THAT(SplitParallelizerList(list),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("parallelizer: \"")))
        << list;
  }
}

}  // namespace
}  // namespace tangram
