// Most of these tests change stored answers, as a person or a disk may.
#include "coordinator/store/answer_table.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_answer_store.h"
#include "coordinator/store/stored_answer.h"
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
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::Pair;
using testing::QuestionOf;
using testing::StatusIs;
using testing::StepsIn;
using ::testing::UnorderedElementsAre;

constexpr char kAside[] = ".damaged-";

class DamagedAnswersTest : public testing::DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    RemoveAside();
  }
  void TearDown() override {
    RemoveAside();
    DatabaseTest::TearDown();
  }
  void RemoveAside() const {
    for (int i = 1; i <= 4; ++i) {
      for (const char* suffix : {"", "-wal"}) {
        std::filesystem::remove(absl::StrCat(file(), kAside, i, suffix));
      }
    }
  }

  AnswerPlace Place() const {
    return is_shared() ? AnswersInPostgres(connection())
                       : AnswersInFile(file());
  }
  AnswerStoreOptions Options() { return {.version = "1", .observer = &seen_}; }
  std::unique_ptr<AnswerStore> NewStore() {
    auto store = CreateSqlAnswerStore(Place(), Options());
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }
  // Creates a database with answers to questions 1 and 2.
  void Fill() {
    NewStore()->Insert(
        {Answered(1, AnswerWith(10)), Answered(2, AnswerWith(20))}, [] {});
  }
  void Change(const std::string& sql, absl::Span<const SqlValue> values = {}) {
    ASSERT_THAT(Open()->Run(sql, values), IsOk());
  }
  int64_t NumRows() {
    int64_t rows = 0;
    EXPECT_THAT(Open()->Run("SELECT COUNT(*) FROM answers", {},
                            [&](const SqlRow& row) { rows = row.Int(0); }),
                IsOk());
    return rows;
  }
  // Returns a column of the row of question 1.
  std::string Column(const std::string& name) {
    std::string value;
    EXPECT_THAT(Open()->Run(absl::StrCat("SELECT ", name,
                                         " FROM answers WHERE key = ?1"),
                            {Blob{QuestionOf(1).key.view()}},
                            [&](const SqlRow& row) { value = row.String(0); }),
                IsOk());
    return value;
  }

  CountingObserver seen_;
};

INSTANTIATE_TEST_SUITE_P(All, DamagedAnswersTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(DamagedAnswersTest, ARowWithAFlippedBitIsDroppedAndAskedAgain) {
  for (const char* column : {"question", "answer", "checksum"}) {
    Fill();
    const std::string value = Column(column);
    for (const size_t at : {size_t{0}, value.size() / 2, value.size() - 1}) {
      std::string flipped = value;
      flipped[at] = static_cast<char>(flipped[at] ^ 4);
      Change(
          absl::StrCat("UPDATE answers SET ", column, " = ?1 WHERE key = ?2"),
          {Blob{flipped}, Blob{QuestionOf(1).key.view()}});
      seen_.dropped.clear();
      {
        const auto store = NewStore();
        EXPECT_EQ(StepsIn(*store, 1), -1) << column << " " << at;
        EXPECT_EQ(StepsIn(*store, 2), 20);
        EXPECT_THAT(seen_.dropped,
                    UnorderedElementsAre(Pair(std::string(kBadChecksum), 1)));
      }
      EXPECT_EQ(NumRows(), 1);
      const auto store = NewStore();
      store->Insert({Answered(1, AnswerWith(10))}, [] {});
      EXPECT_EQ(StepsIn(*store, 1), 10);
    }
  }
}

TEST_P(DamagedAnswersTest, ARowUnderAnotherKeyIsDropped) {
  Fill();
  // Moves the row to question 3.
  Change("UPDATE answers SET key = ?1 WHERE key = ?2",
         {Blob{QuestionOf(3).key.view()}, Blob{QuestionOf(1).key.view()}});
  const auto store = NewStore();
  EXPECT_EQ(StepsIn(*store, 3), -1);
  EXPECT_EQ(StepsIn(*store, 1), -1);
  EXPECT_THAT(seen_.dropped,
              UnorderedElementsAre(Pair(std::string(kBadChecksum), 1)));
}

// Anyone who has the file can compute a checksum.
TEST_P(DamagedAnswersTest, ASealedRowOfAnotherQuestionIsDropped) {
  Fill();
  StoredAnswer row =
      Seal("1", {{.key = QuestionOf(1).key, .bytes = QuestionOf(2).bytes},
                 AnswerWith(20)});
  Change(
      "UPDATE answers SET question = ?1, answer = ?2, checksum = ?3 "
      "WHERE key = ?4",
      {Blob{row.question}, Blob{row.answer}, Blob{row.checksum},
       Blob{row.key}});
  const auto store = NewStore();
  EXPECT_EQ(StepsIn(*store, 1), -1);
  EXPECT_THAT(seen_.dropped,
              UnorderedElementsAre(Pair(std::string(kOtherQuestion), 1)));
}

TEST_P(DamagedAnswersTest, AnAnswerThatThePoolRefusesIsForgotten) {
  Fill();
  {
    const auto store = NewStore();
    store->Drop(QuestionOf(1).key, absl::InternalError("dp 2^20"));
    EXPECT_EQ(StepsIn(*store, 1), -1);
    EXPECT_EQ(StepsIn(*store, 2), 20);
  }
  EXPECT_THAT(seen_.dropped,
              UnorderedElementsAre(Pair(std::string(kWrongAnswer), 1)));
  EXPECT_EQ(NumRows(), 1);
}

TEST_P(DamagedAnswersTest, AnswersOfTheFirstFormatAreDeleted) {
  {
    const auto database = Open();
    const SqlDialect& dialect = database->dialect();
    ASSERT_THAT(
        database->RunScript(absl::StrCat(
            "CREATE TABLE tangram_schema (name TEXT PRIMARY KEY, version "
            "BIGINT NOT NULL); INSERT INTO tangram_schema VALUES ('answers', "
            "1); CREATE TABLE answers (sequence ",
            dialect.sequence,
            ", version TEXT NOT NULL, key BIGINT NOT NULL, answer ",
            dialect.blob,
            " NOT NULL, UNIQUE (version, key)); INSERT INTO answers (version, "
            "key, answer) VALUES ('1', 7, 'evil')")),
        IsOk());
  }
  Fill();
  EXPECT_EQ(NumRows(), 2);
  EXPECT_EQ(StepsIn(*NewStore(), 1), 10);
}

// Files and servers behave alike: an earlier program starts, and the answers of
// the later one are not lost.
TEST_P(DamagedAnswersTest, AnswersOfALaterFormatAreSetAside) {
  for (int time = 1; time <= 4; ++time) {
    Fill();
    Change("UPDATE tangram_schema SET version = 99 WHERE name = 'answers'");
    seen_.set_aside = 0;
    EXPECT_EQ(StepsIn(*NewStore(), 1), -1);
    EXPECT_EQ(seen_.set_aside, 1) << time;
    EXPECT_EQ(NumRows(), 0);
  }
  if (!is_shared()) return;
  int64_t num_kept = 0;
  int64_t num_tables = 0;
  EXPECT_THAT(Open()->Run("SELECT (SELECT COUNT(*) FROM answers_damaged_3), "
                          "COUNT(*) FROM pg_tables WHERE schemaname = "
                          "current_schema() AND tablename LIKE 'answers%'",
                          {},
                          [&](const SqlRow& row) {
                            num_kept = row.Int(0);
                            num_tables = row.Int(1);
                          }),
              IsOk());
  EXPECT_EQ(num_kept, 2);
  EXPECT_EQ(num_tables, 4);
}

TEST_P(DamagedAnswersTest, PurgingDoesNotStopAtALaterFormat) {
  Fill();
  Change("UPDATE tangram_schema SET version = 99 WHERE name = 'answers'");
  EXPECT_THAT(PurgeAnswers(Place(), Options()), IsOkAndHolds(0));
  EXPECT_EQ(seen_.set_aside, 1);
  Fill();
  EXPECT_THAT(PurgeAnswers(Place(), Options()), IsOkAndHolds(2));
}

// Two coordinators may find the later format at once. The second must not set
// aside the table that the first has made.
TEST_P(DamagedAnswersTest, ASoundTableOfAServerIsNotSetAside) {
  if (!is_shared()) GTEST_SKIP() << "not applicable: files are locked";
  Fill();
  EXPECT_THAT(SetPostgresTableAside(connection()), IsOk());
  EXPECT_EQ(NumRows(), 2);
}

TEST_P(DamagedAnswersTest, PurgingDeletesTheAnswersOfAllVersions) {
  Fill();
  AnswerStoreOptions newer = Options();
  newer.version = "2";
  {
    auto store = CreateSqlAnswerStore(Place(), newer);
    ASSERT_THAT(store, IsOk());
    (*store)->Insert({Answered(1, AnswerWith(10))}, [] {});
  }
  EXPECT_THAT(PurgeAnswers(Place(), Options()), IsOkAndHolds(3));
  EXPECT_THAT(PurgeAnswers(Place(), Options()), IsOkAndHolds(0));
  EXPECT_EQ(StepsIn(*NewStore(), 1), -1);
}

// The tests below are for files. A server looks after its own.

class DamagedFileTest : public DamagedAnswersTest {
 protected:
  std::string Read() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary) << bytes;
  }
  // Expects the store to keep an answer and find it.
  void ExpectWorks(absl::string_view what = "") {
    NewStore()->Insert({Answered(7, AnswerWith(70))}, [] {});
    EXPECT_EQ(StepsIn(*NewStore(), 7), 70) << what;
  }
};

INSTANTIATE_TEST_SUITE_P(All, DamagedFileTest, ::testing::Values("sqlite"),
                         testing::DatabaseName);

TEST_P(DamagedFileTest, AFileThatIsNoDatabaseIsSetAside) {
  Write(std::string(5000, 'x'));
  ExpectWorks();
  EXPECT_EQ(seen_.set_aside, 1);
  EXPECT_EQ(std::filesystem::file_size(absl::StrCat(file(), kAside, 1)), 5000u);
}

TEST_P(DamagedFileTest, ABadHeaderIsSetAside) {
  Fill();
  const std::string sound = Read();
  // Magic, page size, versions that forbid writing and reading, size, schema.
  for (const size_t at : {0, 16, 18, 19, 21, 56, 100, 105}) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    Write(damaged);
    ExpectWorks(absl::StrCat("byte ", at));
    RemoveAside();
  }
}

TEST_P(DamagedFileTest, ATruncatedFileIsSetAside) {
  Fill();
  const std::string sound = Read();
  for (const size_t size :
       {sound.size() / 2, size_t{4096}, size_t{100}, size_t{1}, size_t{0}}) {
    seen_.set_aside = 0;
    Write(sound.substr(0, size));
    ExpectWorks();
    EXPECT_EQ(seen_.set_aside, 1) << size;
    RemoveAside();
  }
}

TEST_P(DamagedFileTest, OtherTablesAreSetAside) {
  for (const char* script :
       {"CREATE TABLE answers (x)",
        "CREATE TABLE tangram_schema (name TEXT PRIMARY KEY, version BIGINT);"
        "INSERT INTO tangram_schema VALUES ('answers', 2)",
        "CREATE TABLE tangram_schema (name TEXT PRIMARY KEY, version BIGINT);"
        "INSERT INTO tangram_schema VALUES ('answers', 2);"
        "CREATE TABLE answers (sequence, version, key, answer)",
        "CREATE TABLE tangram_schema (name TEXT PRIMARY KEY, version BIGINT);"
        "INSERT INTO tangram_schema VALUES ('answers', -3)",
        "CREATE TABLE tangram_schema (name TEXT PRIMARY KEY, version BIGINT);"
        "INSERT INTO tangram_schema VALUES ('answers', 99)"}) {
    std::filesystem::remove(file());
    ASSERT_THAT(Open()->RunScript(script), IsOk());
    seen_.set_aside = 0;
    ExpectWorks();
    EXPECT_EQ(seen_.set_aside, 1) << script;
    RemoveAside();
  }
}

TEST_P(DamagedFileTest, AFolderOrAPipeIsSetAside) {
  std::filesystem::create_directories(file() + "/full");
  ExpectWorks("folder");
  EXPECT_EQ(seen_.set_aside, 1);
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(file(), kAside, "1/full")));
  std::filesystem::remove_all(absl::StrCat(file(), kAside, 1));
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  ExpectWorks("pipe");
  EXPECT_EQ(seen_.set_aside, 2);
}

TEST_P(DamagedFileTest, AFileThatCannotBeWrittenIsSetAside) {
  if (geteuid() == 0) GTEST_SKIP() << "not applicable: root may write all";
  Fill();
  std::filesystem::permissions(file(), std::filesystem::perms::owner_read);
  ExpectWorks();
  EXPECT_EQ(seen_.set_aside, 1);
}

TEST_P(DamagedFileTest, TheFirstTwoAndTheLastDamagedFilesAreKept) {
  for (int i = 1; i <= 4; ++i) {
    Write(std::string(5000, static_cast<char>('0' + i)));
    NewStore();
  }
  for (const auto& [number, kept] :
       std::map<int, char>{{1, '1'}, {2, '2'}, {3, '4'}}) {
    std::ifstream in(absl::StrCat(file(), kAside, number));
    EXPECT_EQ(in.get(), kept);
  }
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(file(), kAside, 4)));
}

TEST_P(DamagedFileTest, AFileInUseIsNotSetAside) {
  const auto first = NewStore();
  EXPECT_THAT(CreateSqlAnswerStore(Place(), Options()).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("locked")));
  EXPECT_THAT(PurgeAnswers(Place(), Options()).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("locked")));
  EXPECT_EQ(seen_.set_aside, 0);
}

TEST_P(DamagedFileTest, PurgingADamagedFileSetsItAside) {
  Write(std::string(5000, 'x'));
  EXPECT_THAT(PurgeAnswers(Place(), Options()), IsOkAndHolds(0));
  EXPECT_EQ(seen_.set_aside, 1);
}

// Whatever bytes change, an answer is right or missing, and the store works.
TEST_P(DamagedFileTest, FlippedBitsNeverChangeAnAnswer) {
  constexpr int kAnswers = 300;
  {
    const auto store = NewStore();
    std::vector<AnsweredQuestion> all;
    for (int i = 0; i < kAnswers; ++i)
      all.push_back(Answered(i, AnswerWith(i)));
    store->Insert(all, [] {});
  }
  const std::string sound = Read();
  std::mt19937 rng(13);
  int64_t num_missing = 0;
  for (int round = 0; round < 100; ++round) {
    std::string damaged = sound;
    for (int flips = 1 + static_cast<int>(rng() % 20); flips > 0; --flips) {
      // Half of the flips hit the structure.
      const size_t at = rng() % (rng() % 2 == 0 ? 4096 : damaged.size());
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << rng() % 8);
    }
    Write(damaged);
    {
      const auto store = NewStore();
      for (int i = 0; i < kAnswers; ++i) {
        const int64_t steps = StepsIn(*store, i);
        ASSERT_TRUE(steps == i || steps == -1) << round;
        num_missing += steps == -1 ? 1 : 0;
      }
      store->Insert({Answered(1000, AnswerWith(5))}, [] {});
    }
    EXPECT_EQ(StepsIn(*NewStore(), 1000), 5) << round;
    RemoveAside();
    for (const char* suffix : {"-wal", "-shm"}) {
      std::filesystem::remove(file() + suffix);
    }
  }
  EXPECT_GT(num_missing, 0);
}

}  // namespace
}  // namespace tangram
