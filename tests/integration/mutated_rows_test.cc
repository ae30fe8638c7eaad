#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/obs/build_info.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/store/sqlite_database.h"
#include "coordinator/store/stored_answer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/integration/answer_mutations.h"
#include "tests/testing/messages/mutate_message.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

// Coordinators over one folder, and the rows of answers between their lives. A
// changed row gets the right checksum, as from somebody who can write the file.
// So only the law stands between the row and a plan.
class MutatedRowsTest : public ::testing::Test {
 protected:
  MutatedRowsTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(::testing::TempDir(), "/", test->name());
    std::filesystem::remove_all(folder_);
  }
  ~MutatedRowsTest() override { std::filesystem::remove_all(folder_); }

  // Starts a coordinator with one honest worker.
  std::unique_ptr<TestService> Start() {
    auto service = std::make_unique<TestService>(CoordinatorOptions{
        .plan_cache_bytes = 0, .state = {.state_dir = folder_}});
    WorkerOptions options{.name = "honest"};
    for (const char* adapter : kMutatedAdapters) {
      options.parallelizers.push_back(*CreateBuiltinParallelizer(adapter));
    }
    service->AddWorker(std::move(options));
    return service;
  }

  std::unique_ptr<SqlDatabase> Open() {
    auto database = OpenSqliteDatabase(folder_ + "/answers.db");
    EXPECT_THAT(database, IsOk());
    return *std::move(database);
  }
  std::vector<StoredAnswer> ReadRows() {
    std::vector<StoredAnswer> rows;
    EXPECT_THAT(
        Open()->Run("SELECT key, question, answer, checksum FROM answers "
                    "ORDER BY sequence",
                    {},
                    [&](const SqlRow& row) {
                      rows.push_back({.key = row.String(0),
                                      .question = row.String(1),
                                      .answer = row.String(2),
                                      .checksum = row.String(3)});
                    }),
        IsOk());
    return rows;
  }
  void WriteRows(std::vector<StoredAnswer> rows) {
    const auto database = Open();
    EXPECT_THAT(database->Transact([&] {
      absl::Status status = database->Run("DELETE FROM answers");
      for (StoredAnswer& row : rows) {
        row.checksum = ChecksumOf(Version(), row);
        status.Update(database->Run(
            "INSERT INTO answers (version, key, question, answer, "
            "checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
            {Version(), Blob{row.key}, Blob{row.question}, Blob{row.answer},
             Blob{row.checksum}}));
      }
      return status;
    }),
                IsOk());
  }

  // Changes one field of the answer in a row. Returns its path.
  static std::string Mutate(std::mt19937& rng, StoredAnswer& row) {
    v1::Answer message;
    EXPECT_TRUE(message.ParseFromString(row.answer));
    std::string path = MutateMessage(rng, message);
    row.answer = message.SerializeAsString();
    return path;
  }

  std::string folder_;
};

// One query, with the answer of an honest worker.
struct Asked {
  AdapterId adapter;
  Query query;
  Answer answer;
};

TEST_F(MutatedRowsTest, NothingThatTheLawCanRefuseIsServed) {
  const SharedContext context =
      std::make_shared<const QueryContext>(MutationContext());
  std::map<std::string, Asked> asked;  // By key.
  for (const char* name : kMutatedAdapters) {
    const auto parallelizer = *CreateBuiltinParallelizer(name);
    const AdapterId adapter{name, parallelizer->version()};
    QuestionWriter writer({.adapter = adapter}, context.get());
    for (int i = 0; i < 12; ++i) {
      const Query query = MutationQuery(i / 2, i % 2);
      asked[std::string(writer.KeyOf(query).view())] = {
          adapter, query,
          *AnswerQuery(*parallelizer, context->pairs, query, nullptr)};
    }
  }
  const auto ask = [&](TestService& service, const Asked& one) {
    return service.server().pool().Run(one.adapter, context, {&one.query, 1});
  };
  {
    const auto service = Start();
    for (const auto& [key, one] : asked)
      ASSERT_THAT(ask(*service, one), IsOk());
  }
  const std::vector<StoredAnswer> genuine = ReadRows();
  ASSERT_EQ(genuine.size(), asked.size());

  const int num_mutations = NumMutations();
  std::mt19937 rng(1);
  std::map<std::string, int> fields;
  std::map<std::string, int> kept;
  int num_done = 0;
  int num_dropped = 0;
  int num_harmless = 0;
  while (num_done < num_mutations) {
    std::vector<StoredAnswer> rows = genuine;
    std::vector<std::string> changed;
    for (StoredAnswer& row : rows) {
      changed.push_back(FieldOf(Mutate(rng, row)));
      ++fields[changed.back()];
    }
    WriteRows(rows);
    const auto service = Start();
    for (size_t i = 0; i < rows.size(); ++i, ++num_done) {
      const Asked& one = asked.at(rows[i].key);
      const auto result = ask(*service, one);
      ASSERT_THAT(result, IsOk()) << changed[i];
      const bool is_same = IsSame(result->answers[0], one.answer);
      if (result->cache_hits == 0) {
        EXPECT_TRUE(is_same) << changed[i];
        ++num_dropped;
      } else if (is_same) {
        ++num_harmless;
      } else {
        ++kept[changed[i]];
        EXPECT_TRUE(IsTheWorkersWord(changed[i])) << changed[i];
      }
    }
  }
  std::cout << num_done << " changed rows, " << fields.size()
            << " fields: " << num_dropped << " dropped, " << num_harmless
            << " without effect, kept:\n";
  for (const auto& [field, count] : kept) {
    std::cout << "  " << count << " " << field << "\n";
  }
  EXPECT_GT(num_dropped, num_done / 3);
}

// All rows of a plan are changed at once, in fields that the law can judge.
TEST_F(MutatedRowsTest, NoIllegalRowChangesALaterPlan) {
  const auto plan = [](TestService& service) {
    return CallPlan(service.address(), Encode(SmallRequest(), "mist"));
  };
  const std::string expected = LocalEssence(SmallRequest(), "mist");
  {
    const auto service = Start();
    ASSERT_THAT(plan(*service), IsOk());
  }
  const std::vector<StoredAnswer> genuine = ReadRows();
  ASSERT_GT(genuine.size(), 10u);

  const int num_mutations = NumMutations();
  std::mt19937 rng(2);
  int num_done = 0;
  while (num_done < num_mutations) {
    std::vector<StoredAnswer> rows = genuine;
    for (StoredAnswer& row : rows) {
      const StoredAnswer before = row;
      const auto is_judged = [&](const std::string& path) {
        const auto answer = ParseAnswer(row.answer);
        return !IsTheWorkersWord(FieldOf(path)) &&
               !(answer.ok() && IsSame(*answer, *ParseAnswer(before.answer)));
      };
      while (!is_judged(Mutate(rng, row))) row = before;
    }
    num_done += static_cast<int>(rows.size());
    WriteRows(rows);
    const auto service = Start();
    ASSERT_OK_AND_ASSIGN(const PlanFile file, plan(*service));
    EXPECT_EQ(Essence(file), expected);
  }
  std::cout << num_done << " illegal rows: 0 plans changed\n";
}

}  // namespace
}  // namespace tangram::testing
