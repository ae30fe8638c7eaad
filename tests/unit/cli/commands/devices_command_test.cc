#include <sstream>
#include <string>

#include "cli/commands/commands.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DevicesCommandTest : public ::testing::Test {
 protected:
  CommandResult Show(const std::string& device) {
    return tangram::Run(DevicesOptions{.device = device}, console_);
  }

  std::ostringstream out_;
  Console console_{.out = out_, .err = out_};
};

TEST_F(DevicesCommandTest, ListsEveryDeviceWithItsSource) {
  ASSERT_THAT(Show(""), IsOk());

  EXPECT_THAT(out_.str(),
              AllOf(ContainsRegex("A100-80 +312 +312 +85.2 GB"),
                    ContainsRegex("A100-80 +NVIDIA A100 datasheet")));
}

TEST_F(DevicesCommandTest, ShowsOneByAliasWithEveryConstantAndSource) {
  ASSERT_THAT(Show("tesla t4"), IsOk());

  EXPECT_THAT(out_.str(),
              AllOf(StartsWith("T4, also Tesla T4, "),
                    ContainsRegex("memory_bandwidth +320 GB/s +\\[1\\]"),
                    HasSubstr("efficiency.gemm_max_fraction"),
                    HasSubstr("efficiency.fragmentation"),
                    HasSubstr("[1] NVIDIA T4 datasheet")));
  // T4 has no bf16 units.
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("bf16")));
}

TEST_F(DevicesCommandTest, AnUnknownOneIsBadInput) {
  EXPECT_THAT(Show("H100X"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("H100X: not in the catalogue; did you mean "
                                 "H100?")));
}

}  // namespace
}  // namespace tangram
