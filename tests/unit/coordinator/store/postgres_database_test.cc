#include "coordinator/store/postgres_database.h"

#include <signal.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::Ne;
using ::testing::Not;
using testing::PostgresServer;
using testing::StatusIs;
using testing::TestServer;

TEST(PostgresDatabaseTest, ABadConnectionStringIsNamed) {
  EXPECT_THAT(OpenPostgresDatabase("host=a nonsense=1").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"nonsense\"; expected postgresql://")));
}

TEST(PostgresDatabaseTest, APasswordIsNotRepeated) {
  EXPECT_THAT(
      OpenPostgresDatabase("postgresql://user:p%zz@host/name").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("p%zz"))));
}

TEST(PostgresDatabaseTest, AServerThatIsNotThereIsUnavailable) {
  EXPECT_THAT(OpenPostgresDatabase("host=/nowhere").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/nowhere")));
}

// A job that was accepted must outlive the loss of power.
TEST(PostgresDatabaseTest, EachCommitIsOnTheDiskBeforeItIsReported) {
  if (PostgresServer::BinFolder().empty()) {
    GTEST_SKIP() << "PostgreSQL is not installed";
  }
  ASSERT_OK_AND_ASSIGN(const auto database,
                       OpenPostgresDatabase(TestServer().connection()));
  const auto synchronous = [&] {
    std::string value;
    EXPECT_THAT(
        database->Run("SHOW synchronous_commit", {},
                      [&](const SqlRow& row) { value = row.String(0); }),
        IsOk());
    return value;
  };
  EXPECT_EQ(synchronous(), "on");
  EXPECT_THAT(database->RelaxDurability(), IsOk());
  EXPECT_EQ(synchronous(), "off");
}

// A stopped backend. Its connection stays open, like that of a frozen host.
class HungServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::BinFolder().empty()) {
      GTEST_SKIP() << "PostgreSQL is not installed";
    }
    ASSERT_OK_AND_ASSIGN(database_,
                         OpenPostgresDatabase(TestServer().connection(),
                                              std::chrono::milliseconds(500)));
    ASSERT_OK_AND_ASSIGN(backend_, Backend());
  }
  void TearDown() override {
    if (backend_ != 0) kill(backend_, SIGCONT);
  }

  absl::StatusOr<pid_t> Backend() {
    int64_t pid = 0;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("SELECT pg_backend_pid()", {},
                       [&](const SqlRow& row) { pid = row.Int(0); }));
    return static_cast<pid_t>(pid);
  }

  std::unique_ptr<SqlDatabase> database_;
  pid_t backend_ = 0;
};

TEST_F(HungServerTest, ItIsUnavailableAndTheConnectionMadeAnew) {
  kill(backend_, SIGSTOP);
  EXPECT_THAT(
      database_->Run("SELECT 1"),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
  EXPECT_THAT(Backend(), IsOkAndHolds(Ne(backend_)));
}

// 64 MB is more than a socket buffers.
TEST_F(HungServerTest, NobodyWaitsForItToRead) {
  const std::string bytes(64 << 20, 'x');
  kill(backend_, SIGSTOP);
  EXPECT_THAT(
      database_->Run("SELECT ?1", {Blob{bytes}}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
}

TEST_F(HungServerTest, ATransactionEndsWithIt) {
  const absl::Status status = database_->Transact([&] {
    kill(backend_, SIGSTOP);
    EXPECT_THAT(database_->Run("SELECT 1"),
                StatusIs(absl::StatusCode::kUnavailable, _));
    return database_->RunScript("SELECT 1");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("connection was lost")));
  EXPECT_THAT(Backend(), IsOkAndHolds(Ne(backend_)));
}

// The server gives up after 0.8 · 500 ms.
TEST_F(HungServerTest, AServerThatLivesGivesUpFirst) {
  std::string timeout;
  EXPECT_THAT(
      database_->Run("SELECT current_setting('statement_timeout')", {},
                     [&](const SqlRow& row) { timeout = row.String(0); }),
      IsOk());
  EXPECT_EQ(timeout, "400ms");
}

class LostConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::BinFolder().empty()) {
      GTEST_SKIP() << "PostgreSQL is not installed";
    }
    ASSERT_OK_AND_ASSIGN(database_,
                         OpenPostgresDatabase(TestServer().connection()));
    ASSERT_THAT(database_->RunScript("DROP TABLE IF EXISTS t;"
                                     "CREATE TABLE t (x BIGINT)"),
                IsOk());
  }

  int64_t NumRows() {
    int64_t rows = -1;
    // The first attempts may come before the wait between attempts has ended.
    while (!database_
                ->Run("SELECT COUNT(*) FROM t", {},
                      [&](const SqlRow& row) { rows = row.Int(0); })
                .ok()) {
    }
    return rows;
  }

  std::unique_ptr<SqlDatabase> database_;
};

TEST_F(LostConnectionTest, AServerThatWasStartedAnewIsFoundAgain) {
  TestServer().Stop(SIGINT);
  TestServer().Start();
  EXPECT_THAT(database_->Run("INSERT INTO t VALUES (1)"), IsOk());
  EXPECT_EQ(NumRows(), 1);
}

TEST_F(LostConnectionTest, IsUnavailableUntilThereIsAServer) {
  TestServer().Stop(SIGQUIT);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(database_->Run("INSERT INTO t VALUES (1)"),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("socket")));
  }
  TestServer().Start();
  EXPECT_EQ(NumRows(), 0);
}

TEST_F(LostConnectionTest, ABrokenTransactionChangesNothing) {
  const absl::Status status = database_->Transact([&]() -> absl::Status {
    EXPECT_THAT(database_->Run("INSERT INTO t VALUES (1)"), IsOk());
    TestServer().Stop(SIGQUIT);
    TestServer().Start();
    return database_->Run("INSERT INTO t VALUES (2)");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_EQ(NumRows(), 0);
}

TEST_F(LostConnectionTest, BadStatementsLeaveTheConnectionAlone) {
  EXPECT_THAT(database_->Run("SELECT nonsense"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("nonsense")));
  EXPECT_THAT(database_->Run("SELECT ?1", {absl::string_view("a\0b", 3)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0x00")));
  EXPECT_EQ(NumRows(), 0);
}

}  // namespace
}  // namespace tangram
