#ifndef TANGRAM_TESTS_TESTING_SERVICE_TEST_TOKENS_H_
#define TANGRAM_TESTS_TESTING_SERVICE_TEST_TOKENS_H_

#include <grpcpp/client_context.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/auth/authenticator.h"
#include "gtest/gtest.h"

namespace tangram::testing {

// A token for each of some callers, in files of the current test.
class TestTokens {
 public:
  // A line is "name,tenant,roles".
  explicit TestTokens(const std::vector<std::string>& lines) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(),
                           ".", test->name(), ".tokens");
    std::filesystem::create_directories(folder_);
    std::ofstream list(tokens_file());
    for (const std::string& line : lines) {
      const std::string name = line.substr(0, line.find(','));
      list << TokenOf(name) << "," << line << "\n";
      std::ofstream(FileOf(name)) << TokenOf(name);
    }
  }
  ~TestTokens() { std::filesystem::remove_all(folder_); }

  std::string tokens_file() const { return folder_ + "/list.csv"; }
  AuthenticatorOptions auth() const { return {.tokens_file = tokens_file()}; }
  // The file with a caller's token.
  std::string FileOf(const std::string& name) const {
    return absl::StrCat(folder_, "/", name, ".token");
  }
  static std::string TokenOf(const std::string& name) {
    return absl::StrCat("the-long-token-of-", name);
  }
  // Makes `context` a call of that caller.
  static void Authorize(const std::string& name, grpc::ClientContext& context) {
    context.AddMetadata("authorization",
                        absl::StrCat("Bearer ", TokenOf(name)));
  }

 private:
  std::string folder_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_SERVICE_TEST_TOKENS_H_
