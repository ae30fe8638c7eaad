#include "coordinator/store/sql_answer_store.h"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_answers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using testing::Answered;
using testing::AnswerWith;
using testing::CountingObserver;
using testing::IsOk;
using testing::QuestionOf;
using testing::StepsIn;

class SqlAnswerStoreTest : public testing::DatabaseTest {
 protected:
  // Opens the store again, which first writes the waiting answers.
  void Reopen(int64_t max_bytes = 1 << 20, const std::string& version = "1") {
    store_.reset();
    store_ = NewStore(max_bytes, version);
  }
  std::unique_ptr<AnswerStore> NewStore(int64_t max_bytes,
                                        const std::string& version) {
    auto store = CreateSqlAnswerStore(
        Place(),
        {.max_bytes = max_bytes, .version = version, .observer = &observer_});
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }
  AnswerPlace Place() const {
    return is_shared() ? AnswersInPostgres(connection())
                       : AnswersInFile(file());
  }
  void TearDown() override {
    store_.reset();
    DatabaseTest::TearDown();
  }
  void Insert(uint64_t number, const Answer& answer) {
    store_->Insert({Answered(number, answer)}, [] {});
  }
  int64_t Steps(uint64_t number) { return StepsIn(*store_, number); }

  CountingObserver observer_;
  std::unique_ptr<AnswerStore> store_;
};

INSTANTIATE_TEST_SUITE_P(All, SqlAnswerStoreTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(SqlAnswerStoreTest, AnswersOutliveTheProcess) {
  Reopen();
  Insert(1, AnswerWith(10));
  Insert(2, AnswerWith(20));
  Reopen();

  EXPECT_EQ(Steps(1), 10);
  EXPECT_EQ(Steps(2), 20);
  EXPECT_EQ(Steps(3), -1);
}

TEST_P(SqlAnswerStoreTest, AnotherVersionStartsAnew) {
  Reopen();
  Insert(1, AnswerWith(10));
  Reopen(1 << 20, "2");
  EXPECT_EQ(Steps(1), -1);

  Insert(2, AnswerWith(20));
  Reopen(1 << 20, "2");
  EXPECT_EQ(Steps(2), 20);
}

TEST_P(SqlAnswerStoreTest, AnswersComeInTheOrderOfTheQuestions) {
  Reopen();
  Insert(1, AnswerWith(10));
  Insert(2, PerformanceProfile{.min_gpu_seconds = 3});
  Reopen();

  const auto answers =
      store_->Find({QuestionOf(2), QuestionOf(9), QuestionOf(1)});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(std::get<PerformanceProfile>(*answers[0]).min_gpu_seconds, 3);
  EXPECT_EQ(answers[1], std::nullopt);
  EXPECT_EQ(std::get<SlicePlanSet>(*answers[2]).search_steps, 10);
}

TEST_P(SqlAnswerStoreTest, SaysWhenAnswersAreKept) {
  Reopen();
  std::promise<void> kept;
  store_->Insert({Answered(1, AnswerWith(10)), Answered(2, AnswerWith(20))},
                 [&] { kept.set_value(); });
  kept.get_future().wait();

  EXPECT_EQ(Steps(1), 10);
  EXPECT_EQ(Steps(2), 20);
}

// While it lives, no file of this process can grow.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_P(SqlAnswerStoreTest, NobodyWaitsForAFullDisk) {
  if (is_shared()) GTEST_SKIP() << "not applicable: the server has the file";
  Reopen();
  Insert(3, AnswerWith(30));
  {
    const FullDisk disk;
    for (uint64_t key = 1; key <= 2; ++key) {
      std::promise<void> settled;
      store_->Insert({Answered(key, AnswerWith(10))},
                     [&] { settled.set_value(); });
      settled.get_future().wait();
      EXPECT_EQ(Steps(key), -1);
    }
    EXPECT_EQ(Steps(3), 30);
  }
  Reopen();  // Writes the waiting answers.
  EXPECT_EQ(Steps(1), 10);
  EXPECT_EQ(Steps(2), 10);
}

// At most 64 MB may wait.
TEST_P(SqlAnswerStoreTest, TheLastOfTooManyWaitingBytesAreDropped) {
  if (is_shared()) GTEST_SKIP() << "not applicable: the server has the file";
  Reopen(1 << 30);
  {
    const FullDisk disk;
    for (uint64_t key = 1; key <= 3; ++key) {
      Insert(key, AnswerWith(10, 30 << 20));
    }
    Insert(4, AnswerWith(10));
  }
  Reopen(1 << 30);  // Writes the waiting answers.
  EXPECT_EQ(Steps(1), 10);
  EXPECT_EQ(Steps(2), 10);
  EXPECT_EQ(Steps(3), -1);
  EXPECT_EQ(Steps(4), 10);
}

// While it lives, or until released, answers can be neither written nor read.
class LockedAnswers {
 public:
  explicit LockedAnswers(std::unique_ptr<SqlDatabase> database)
      : database_(std::move(database)) {
    EXPECT_THAT(database_->RunScript(
                    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0;"
                    "LOCK TABLE answers IN ACCESS EXCLUSIVE MODE"),
                IsOk());
  }
  void AwaitWaiting() {
    int64_t waiting = 0;
    while (waiting == 0) {
      EXPECT_THAT(
          database_->Run("SELECT COUNT(*) FROM pg_locks WHERE NOT granted", {},
                         [&](const SqlRow& row) { waiting = row.Int(0); }),
          IsOk());
    }
  }
  void Hold(const std::string& seconds) {
    EXPECT_THAT(database_->RunScript("SELECT pg_sleep(" + seconds + ")"),
                IsOk());
  }
  void Release() { EXPECT_THAT(database_->RunScript("COMMIT"), IsOk()); }

 private:
  const std::unique_ptr<SqlDatabase> database_;
};

TEST_P(SqlAnswerStoreTest, AfterASlowWriteNobodyWaitsUntilOneIsQuick) {
  if (!is_shared()) GTEST_SKIP() << "not applicable: nobody else can lock it";
  Reopen();
  {
    LockedAnswers answers(Open());
    std::thread first([&] { Insert(1, AnswerWith(10)); });
    answers.AwaitWaiting();
    answers.Hold("0.6");
    answers.Release();
    first.join();
  }
  {
    LockedAnswers answers(Open());
    std::promise<void> kept;
    store_->Insert({Answered(2, AnswerWith(20))}, [&] { kept.set_value(); });
    auto future = kept.get_future();
    EXPECT_EQ(future.wait_for(std::chrono::seconds(0)),
              std::future_status::timeout);
    answers.Release();
    future.wait();
    EXPECT_EQ(Steps(2), 20);
  }
  std::thread::id writer;
  while (writer != std::this_thread::get_id()) {
    std::promise<std::thread::id> settled;
    store_->Insert({Answered(3, AnswerWith(30))},
                   [&] { settled.set_value(std::this_thread::get_id()); });
    writer = settled.get_future().get();
  }
}

// 1 + 1000 + 1000 + 500.
TEST_P(SqlAnswerStoreTest, WaitingAnswersAreWrittenInParts) {
  if (!is_shared()) GTEST_SKIP() << "not applicable: nobody else can lock it";
  Reopen();
  LockedAnswers answers(Open());
  std::thread first([&] { Insert(5000, AnswerWith(10)); });
  answers.AwaitWaiting();
  for (uint64_t i = 0; i < 25; ++i) {
    std::vector<AnsweredQuestion> hundred;
    for (uint64_t key = 0; key < 100; ++key) {
      hundred.push_back(Answered(100 * i + key, AnswerWith(20)));
    }
    store_->Insert(hundred, [] {});
  }
  answers.Release();
  first.join();
  store_.reset();

  int64_t rows = 0;
  int64_t transactions = 0;
  EXPECT_THAT(Open()->Run("SELECT COUNT(*), COUNT(DISTINCT CAST(xmin AS TEXT)) "
                          "FROM answers",
                          {},
                          [&](const SqlRow& row) {
                            rows = row.Int(0);
                            transactions = row.Int(1);
                          }),
              IsOk());
  EXPECT_EQ(rows, 2501);
  EXPECT_EQ(transactions, 4);
}

// Stops the server process of the store's connection.
class HungBackend {
 public:
  explicit HungBackend(SqlDatabase& database) {
    EXPECT_THAT(
        database.Run(
            "SELECT pid FROM pg_stat_activity "
            "WHERE application_name = 'hung' ORDER BY backend_start",
            {},
            [&](const SqlRow& row) { pid_ = static_cast<pid_t>(row.Int(0)); }),
        IsOk());
    EXPECT_EQ(pid_ > 0 ? kill(pid_, SIGSTOP) : -1, 0);
  }
  ~HungBackend() {
    if (pid_ > 0) kill(pid_, SIGCONT);
  }

 private:
  pid_t pid_ = 0;
};

TEST_P(SqlAnswerStoreTest, NobodyWaitsForADatabaseThatHangs) {
  if (!is_shared()) GTEST_SKIP() << "not applicable: has no server";
  AnswerPlace hanging = AnswersInPostgres(connection());
  hanging.open = [this] {
    return OpenPostgresDatabase(connection() + " application_name=hung",
                                std::chrono::milliseconds(500));
  };
  ASSERT_OK_AND_ASSIGN(store_, CreateSqlAnswerStore(hanging, {.version = "1"}));
  Insert(1, AnswerWith(10));
  const auto database = Open();
  {
    const HungBackend backend(*database);
    EXPECT_EQ(Steps(1), -1);
    while (Steps(1) != 10) std::this_thread::yield();
  }
  {
    const HungBackend backend(*database);
    std::promise<void> settled;
    store_->Insert({Answered(2, AnswerWith(20))}, [&] { settled.set_value(); });
    settled.get_future().wait();
    while (Steps(2) != 20) std::this_thread::yield();
  }
}

// Writes 12 MB in answers of 100 kB into a database that may hold 6 MB.
TEST_P(SqlAnswerStoreTest, TheOldestGoFirst) {
  Reopen(6 << 20);
  for (uint64_t key = 0; key < 120; ++key) {
    Insert(key, AnswerWith(1, 100'000));
  }
  Reopen(6 << 20);
  Insert(200, AnswerWith(1, 5 << 20));
  Reopen(6 << 20);

  EXPECT_EQ(Steps(0), -1);
  EXPECT_EQ(Steps(200), 1);
}

// Even an empty table is too large for the limit.
TEST_P(SqlAnswerStoreTest, TrimmingAnEmptyTableEnds) {
  Reopen(-1);
  Insert(1, AnswerWith(1, 5 << 20));
  Reopen(-1);
  EXPECT_EQ(Steps(1), -1);
}

// 300 = 2 · 128 + 2 · 16 + 12.
TEST_P(SqlAnswerStoreTest, ManyAreWrittenAndFoundAtOnce) {
  Reopen();
  std::vector<Question> questions;
  for (uint64_t key = 300; key > 0; --key) {
    Insert(key, AnswerWith(static_cast<int64_t>(key)));
    questions.push_back(QuestionOf(key));
  }
  Reopen();

  const auto answers = store_->Find(questions);
  ASSERT_EQ(answers.size(), questions.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    ASSERT_TRUE(answers[i].has_value()) << i;
    EXPECT_EQ(std::get<SlicePlanSet>(*answers[i]).search_steps, 300 - i);
  }
}

TEST_P(SqlAnswerStoreTest, CoordinatorsShareAnswersOfTheirVersion) {
  if (!is_shared()) GTEST_SKIP() << "not applicable: one process has the file";
  Reopen();
  const auto newer = NewStore(1 << 20, "2");
  Insert(1, AnswerWith(10));
  newer->Insert({Answered(1, AnswerWith(20))}, [] {});
  Reopen();  // Writes the waiting answers.
  while (StepsIn(*newer, 1) == -1) std::this_thread::yield();

  EXPECT_EQ(Steps(1), 10);
  EXPECT_EQ(StepsIn(*newer, 1), 20);
}

}  // namespace
}  // namespace tangram
