#include <grpcpp/client_context.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/obs/build_info.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/store/sqlite_database.h"
#include "coordinator/store/stored_answer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fingerprint_attack.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/service/test_tokens.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

constexpr char kGenuine[] = "A100-80 of team blue";

// Plans for GPUs of kGenuine as the uniform adapter does, and finds only one
// plan for others. So an answer that belongs to another type changes the plan.
class FinickyParallelizer : public ForwardingParallelizer {
 public:
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    auto answer = target().Parallelize(slice, island, options);
    if (answer.ok() && island.device.type != kGenuine &&
        answer->plans.size() > 1) {
      answer->plans.erase(answer->plans.begin(), answer->plans.end() - 1);
    }
    return answer;
  }

 private:
  const Parallelizer& target() const override { return *uniform_; }

  const std::unique_ptr<Parallelizer> uniform_ =
      *CreateBuiltinParallelizer("uniform");
};

PlanRequest RequestFor(const std::string& device_type) {
  PlanRequest request = SmallRequest();
  request.cluster = TestCluster({{"nodes", 4, 4, TestDevice(device_type)}});
  return request;
}

// Two tenants at a coordinator with one worker.
class TenantAnswersTest : public ::testing::Test {
 protected:
  TenantAnswersTest() {
    folder_ = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  ~TenantAnswersTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<TestService> Start(bool share_answers = false) {
    auto service = std::make_unique<TestService>(
        CoordinatorOptions{.auth = tokens_.auth(),
                           .plan_cache_bytes = 0,
                           .share_answers = share_answers,
                           .state = {.state_dir = folder_}});
    WorkerOptions options{
        .coordinators = {{.address = service->address(),
                          .token_file = tokens_.FileOf("worker")}},
        .name = "worker"};
    options.parallelizers.push_back(std::make_unique<FinickyParallelizer>());
    service->AddWorker(std::move(options));
    return service;
  }
  // Returns the plan of a caller, who is the only one of a tenant.
  static std::string Plan(TestService& service, const std::string& caller,
                          const std::string& device_type) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::minutes(2));
    TestTokens::Authorize(caller, context);
    const auto file = CallPlan(
        service.address(), Encode(RequestFor(device_type), "uniform"), context);
    EXPECT_THAT(file, IsOk());
    return file.ok() ? Essence(*file) : "";
  }
  // Returns the plan of a coordinator that has never seen another request.
  std::string PlanAlone(const std::string& device_type) {
    std::filesystem::remove_all(folder_);
    std::string plan;
    {
      const auto service = Start();
      plan = Plan(*service, "alice", device_type);
    }
    std::filesystem::remove_all(folder_);
    return plan;
  }

  // Changes the stored rows and seals them again, as somebody who can write the
  // file could. Returns the number of rows that `change` changed.
  int ChangeRows(const std::function<bool(StoredAnswer&)>& change) {
    const auto opened = OpenSqliteDatabase(folder_ + "/answers.db");
    EXPECT_THAT(opened, IsOk());
    SqlDatabase& database = **opened;
    std::map<int64_t, StoredAnswer> rows;
    EXPECT_THAT(database.Run("SELECT sequence, key, question, answer FROM "
                             "answers",
                             {},
                             [&](const SqlRow& row) {
                               rows[row.Int(0)] = {.key = row.String(1),
                                                   .question = row.String(2),
                                                   .answer = row.String(3)};
                             }),
                IsOk());
    int num_changed = 0;
    for (auto& [sequence, row] : rows) {
      if (!change(row)) continue;
      ++num_changed;
      row.checksum = ChecksumOf(Version(), row);
      EXPECT_THAT(database.Run("UPDATE answers SET question = ?1, answer = "
                               "?2, checksum = ?3 WHERE sequence = ?4",
                               {Blob{row.question}, Blob{row.answer},
                                Blob{row.checksum}, sequence}),
                  IsOk());
    }
    return num_changed;
  }

  const TestTokens tokens_{
      {"alice,tenant-a,plan", "bob,tenant-b,plan", "worker,,work"}};
  std::string folder_;
};

// The two types have one 64-bit fingerprint, which once named their answers.
TEST_F(TenantAnswersTest, ACraftedCollisionGetsEachItsOwnPlan) {
  const std::string forged = TextWithFingerprintOf(kGenuine);
  const std::string good = PlanAlone(kGenuine);
  const std::string evil = PlanAlone(forged);
  for (const bool share_answers : {false, true}) {
    for (const bool evil_is_first : {false, true}) {
      std::filesystem::remove_all(folder_);
      // The second round has the answers of the first in its database.
      for (int round = 0; round < 2; ++round) {
        const auto service = Start(share_answers);
        if (evil_is_first) {
          EXPECT_EQ(Plan(*service, "bob", forged), evil);
        }
        EXPECT_EQ(Plan(*service, "alice", kGenuine), good);
        EXPECT_EQ(Plan(*service, "bob", forged), evil);
      }
    }
  }
}

// As if two questions had one key: the row under Alice's key is Bob's.
TEST_F(TenantAnswersTest, ARowUnderTheKeyOfAnotherTenantIsNotServed) {
  const std::string good = PlanAlone(kGenuine);
  const std::string other = PlanAlone("B200");
  {
    const auto service = Start();
    Plan(*service, "alice", kGenuine);
    Plan(*service, "bob", "B200");
  }
  std::vector<StoredAnswer> of_bob;
  ChangeRows([&](StoredAnswer& row) {
    if (absl::StrContains(row.question, "tenant-b")) of_bob.push_back(row);
    return false;
  });
  ASSERT_GT(of_bob.size(), 5u);
  size_t next = 0;
  const int num_changed = ChangeRows([&](StoredAnswer& row) {
    if (!absl::StrContains(row.question, "tenant-a")) return false;
    const StoredAnswer& taken = of_bob[next++ % of_bob.size()];
    row.question = taken.question;
    row.answer = taken.answer;
    return true;
  });
  EXPECT_GT(num_changed, 5);
  const auto service = Start();
  EXPECT_EQ(Plan(*service, "alice", kGenuine), good);
  EXPECT_EQ(Plan(*service, "bob", "B200"), other);
}

// A lawful but bad answer is believed. It harms one tenant only.
TEST_F(TenantAnswersTest, APoisonedRowOfOneTenantChangesNoPlanOfAnother) {
  const std::string good = PlanAlone(kGenuine);
  {
    const auto service = Start();
    Plan(*service, "alice", kGenuine);
    Plan(*service, "bob", kGenuine);
  }
  const int num_changed = ChangeRows([&](StoredAnswer& row) {
    if (!absl::StrContains(row.question, "tenant-b")) return false;
    auto answer = ParseAnswer(row.answer);
    EXPECT_THAT(answer, IsOk());
    auto* const set = std::get_if<SlicePlanSet>(&*answer);
    if (set == nullptr || set->plans.size() < 2) return false;
    set->plans.erase(set->plans.begin(), set->plans.end() - 1);
    row.answer = SerializeAnswer(*answer);
    return true;
  });
  EXPECT_GT(num_changed, 0);
  const auto service = Start();
  EXPECT_EQ(Plan(*service, "alice", kGenuine), good);
  EXPECT_NE(Plan(*service, "bob", kGenuine), good);  // The poison works.
}

}  // namespace
}  // namespace tangram::testing
