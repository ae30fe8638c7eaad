#include "coordinator/store/sqlite_answer_store.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::IsOk;

Answer AnswerWith(int64_t steps, size_t reason_bytes = 0) {
  return SlicePlanSet{
      .infeasible = Infeasible{.reason = std::string(reason_bytes + 1, 'x')},
      .search_steps = steps};
}

class SqliteAnswerStoreTest : public ::testing::Test {
 protected:
  SqliteAnswerStoreTest()
      : path_(::testing::TempDir() + "/answers_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove(path_);
    Reopen(1 << 20);
  }
  ~SqliteAnswerStoreTest() override {
    store_.reset();
    std::filesystem::remove(path_);
  }

  // Writes what waits.
  void Reopen(int64_t max_bytes, const std::string& version = "1") {
    store_.reset();
    auto store = OpenSqliteAnswerStore(path_, max_bytes, version);
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }
  // −1: unknown.
  int64_t Steps(Fingerprint key) {
    const std::optional<Answer> answer = store_->Find({&key, 1}).front();
    return answer ? std::get<SlicePlanSet>(*answer).search_steps : -1;
  }

  const std::string path_;
  std::unique_ptr<AnswerStore> store_;
};

TEST_F(SqliteAnswerStoreTest, AnswersOutliveTheProcess) {
  // Keys use all 64 bits.
  const Fingerprint high = ~Fingerprint{0};
  store_->Insert(1, AnswerWith(10));
  store_->Insert(high, AnswerWith(20));
  Reopen(1 << 20);

  EXPECT_EQ(Steps(1), 10);
  EXPECT_EQ(Steps(high), 20);
  EXPECT_EQ(Steps(2), -1);
}

TEST_F(SqliteAnswerStoreTest, AnotherVersionStartsAnew) {
  store_->Insert(1, AnswerWith(10));
  Reopen(1 << 20, "2");
  EXPECT_EQ(Steps(1), -1);

  store_->Insert(2, AnswerWith(20));
  Reopen(1 << 20, "2");
  EXPECT_EQ(Steps(2), 20);
}

TEST_F(SqliteAnswerStoreTest, AnswersComeInTheOrderOfTheKeys) {
  store_->Insert(1, AnswerWith(10));
  store_->Insert(2, PerformanceProfile{.min_gpu_seconds = 3});
  Reopen(1 << 20);

  const auto answers = store_->Find({2, 9, 1});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(std::get<PerformanceProfile>(*answers[0]).min_gpu_seconds, 3);
  EXPECT_EQ(answers[1], std::nullopt);
  EXPECT_EQ(std::get<SlicePlanSet>(*answers[2]).search_steps, 10);
}

// 12 MB in answers of 100 kB into a file that may hold 6 MB.
TEST_F(SqliteAnswerStoreTest, TheOldestGoFirst) {
  Reopen(6 << 20);
  for (Fingerprint key = 0; key < 120; ++key) {
    store_->Insert(key, AnswerWith(1, 100'000));
  }
  Reopen(6 << 20);
  store_->Insert(200, AnswerWith(1, 5 << 20));
  Reopen(6 << 20);

  EXPECT_EQ(Steps(0), -1);
  EXPECT_EQ(Steps(200), 1);
}

}  // namespace
}  // namespace tangram
