#include "formats/import_cluster/gres.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseGresTest, ReadsTypesAndCounts) {
  EXPECT_THAT(ParseGres("gpu"),
              IsOkAndHolds(ElementsAre(InventoryGpus{.name = "", .count = 1})));
  EXPECT_THAT(ParseGres("gpu:(null):3(IDX:0,2)"),
              IsOkAndHolds(ElementsAre(InventoryGpus{.count = 3})));
  EXPECT_THAT(
      ParseGres("mps:100,gpu:a40:1(S:0,2),gpu:t4:2,disk:1T"),
      IsOkAndHolds(ElementsAre(InventoryGpus{.name = "a40", .count = 1},
                               InventoryGpus{.name = "t4", .count = 2})));
}

TEST(ParseGresTest, FindsNothingInOtherResources) {
  for (const std::string text : {"", "(null)", "gpu_mem:80G", "shard:t4:8"}) {
    EXPECT_THAT(ParseGres(text), IsOkAndHolds(IsEmpty())) << text;
  }
}

TEST(ParseGresTest, RefusesGpusWithoutACount) {
  for (const std::string text :
       {"gpu:a100:", "gpu:a100", "gpu:a:b:1", "gpu:-1", "gpu:9999999"}) {
    EXPECT_THAT(ParseGres(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(text + "; expected GPUs such as")));
  }
}

}  // namespace
}  // namespace tangram
