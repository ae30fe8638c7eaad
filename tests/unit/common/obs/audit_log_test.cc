#include "common/obs/audit_log.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using testing::StatusIs;

class AuditLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "audit-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return folder_ / "audit.log"; }

  static std::vector<std::string> Lines(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  std::filesystem::path folder_;
};

TEST_F(AuditLogTest, ACallIsALine) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open({.file = file()}));
  log->Write({.method = "/tangram.v1.Jobs/CancelJob",
              .caller = "alice",
              .tenant = "team-a",
              .peer = "ipv4:10.0.0.7:4711",
              .target = "nightly",
              .code = "ok"});
  const auto lines = Lines(file());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(
      lines[0],
      MatchesRegex(
          R"(\{"time":"20..-..-..T..:..:..\....Z","message":"/tangram.v1.Jobs/CancelJob","caller":"alice","tenant":"team-a","peer":"ipv4:10.0.0.7:4711","target":"nightly","code":"ok"\})"));
}

TEST_F(AuditLogTest, NobodyForgesALine) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open({.file = file()}));
  log->Write({.method = "m",
              .target = "a\",\"code\":\"ok\"}\n{\"x\":\"",
              .code = "x"});
  const auto lines = Lines(file());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0],
              AllOf(HasSubstr(R"(a\",\"code\":\"ok\"}\u000a{\"x\":\")"),
                    HasSubstr(R"("code":"x"})")));
}

TEST_F(AuditLogTest, ItContinuesWhereItEnded) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open({.file = file()}));
    log->Write({.method = "m", .code = "ok"});
  }
  EXPECT_THAT(Lines(file()), SizeIs(2));
}

TEST_F(AuditLogTest, FullFilesAreKeptUpToALimit) {
  ASSERT_OK_AND_ASSIGN(
      const auto log,
      AuditLog::Open({.file = file(), .max_bytes = 1000, .max_old_files = 2}));
  // Each line has over 100 bytes.
  for (int i = 0; i < 100; ++i) log->Write({.method = "m", .code = "ok"});
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    ++files;
    EXPECT_LE(entry.file_size(), 1000u);
    struct stat status = {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
  }
  EXPECT_EQ(files, 3);
}

TEST_F(AuditLogTest, ALineThatStandsForManyCallsSaysHowMany) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open({.file = file()}));
  log->Write({.method = "m", .code = "unauthenticated", .times = 28000});
  const auto lines = Lines(file());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0],
              HasSubstr(R"("code":"unauthenticated","times":28000})"));
}

TEST_F(AuditLogTest, AFileThatIsTakenAwayIsFollowedByAnother) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open({.file = file()}));
  log->Write({.method = "first", .code = "ok"});
  std::filesystem::rename(file(), folder_ / "audit.log-20261130");
  log->Write({.method = "second", .code = "ok"});
  EXPECT_THAT(Lines(file()), ElementsAre(HasSubstr("\"time\":\"20")));
  EXPECT_THAT(Lines(file()), ElementsAre(HasSubstr("second")));
  std::filesystem::remove(file());
  log->Write({.method = "third", .code = "ok"});
  EXPECT_THAT(Lines(file()), ElementsAre(HasSubstr("third")));
  // Another program has made the file.
  std::filesystem::remove(file());
  std::ofstream(file() + ".new") << "";
  std::filesystem::rename(file() + ".new", file());
  log->Write({.method = "fourth", .code = "ok"});
  EXPECT_THAT(Lines(file()), ElementsAre(HasSubstr("fourth")));
  struct stat status = {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, AFileThatCannotBeIsRefused) {
  EXPECT_THAT(
      AuditLog::Open({.file = folder_}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--audit_log: ")));
}

}  // namespace
}  // namespace tangram
