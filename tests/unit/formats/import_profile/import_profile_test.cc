#include "formats/import_profile/import_profile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ImportProfileTest, AnUnknownFormatIsToldTheKnownOnes) {
  EXPECT_THAT(
      ImportProfile("piper", {{"f", "x"}}, {}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--from: piper; expected one of aceso, galvatron, "
                         "metis, mist, nccl-tests, sailor")));
}

TEST(ImportProfileTest, NeedsAFileAndSomethingInIt) {
  EXPECT_THAT(ImportProfile("aceso", {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected at least one")));
  EXPECT_THAT(
      ImportProfile("mist", {{"f.json", R"({"ops": []})"}}, {.device = "X"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("f.json: nothing to import")));
}

}  // namespace
}  // namespace tangram
