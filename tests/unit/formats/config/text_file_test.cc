#include "formats/config/text_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string PathOf(const std::string& name) {
  return ::testing::TempDir() + "/text_file_test_" + name;
}

TEST(ReadConfigFileTest, ReturnsTheContent) {
  const std::string path = PathOf("small");
  std::ofstream(path) << "a: 1\n";
  EXPECT_THAT(ReadConfigFile(path), IsOkAndHolds("a: 1\n"));
  std::remove(path.c_str());
}

TEST(ReadConfigFileTest, NamesAMissingFile) {
  EXPECT_THAT(
      ReadConfigFile("/no/such/file"),
      StatusIs(absl::StatusCode::kNotFound, "/no/such/file: no such file"));
}

TEST(ReadConfigFileTest, RefusesAFolder) {
  EXPECT_THAT(
      ReadConfigFile(::testing::TempDir()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a folder")));
}

TEST(ReadConfigFileTest, RefusesALargeFile) {
  const std::string path = PathOf("large");
  std::ofstream(path) << "a";
  std::filesystem::resize_file(path, 50'000'000);
  EXPECT_THAT(ReadConfigFile(path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       EndsWith("large: 50.0 MB; expected at most 8 MiB")));
  std::remove(path.c_str());
}

TEST(ReadConfigFileTest, StopsReadingWhatNeverEnds) {
  EXPECT_THAT(ReadConfigFile("/dev/zero"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected at most 8 MiB")));
}

}  // namespace
}  // namespace tangram
