#include <grpcpp/client_context.h>

#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/wire/worker_pool_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/answer_mutations.h"
#include "tests/testing/messages/mutate_message.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/service/test_tokens.h"
#include "tests/testing/service/worker_proxy.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

// Handling of the digest of a changed answer.
enum class Seal {
  kLeftAsItWas,  // As damage on the way leaves it: wrong.
  kMadeAgain     // As a faulty worker makes it: right.
};

// A coordinator with an honest worker, and a worker behind a proxy that changes
// one field of some answers. Nothing is cached, so every query is asked.
class MutatedAnswersTest : public ::testing::Test {
 protected:
  MutatedAnswersTest() {
    proxy_ = WorkerProxy::Start(service_.address(),
                                [this](v1::Answer& answer) { Tamper(answer); });
    AddWorker("victim", proxy_->address());
    AddWorker("honest", service_.address());
    for (const char* adapter : kMutatedAdapters) {
      parallelizers_[adapter] = *CreateBuiltinParallelizer(adapter);
    }
  }
  ~MutatedAnswersTest() override { proxy_.reset(); }

  void AddWorker(const std::string& name, const std::string& address) {
    WorkerOptions options{
        .coordinators = {{.address = address,
                          .token_file = tokens_.FileOf(name)}},
        .name = name,
        .min_backoff_s = 0.02,
        .max_backoff_s = 0.1};
    for (const char* adapter : kMutatedAdapters) {
      options.parallelizers.push_back(*CreateBuiltinParallelizer(adapter));
    }
    service_.AddWorker(std::move(options));
  }

  const Answer& Expected(const std::string& adapter, const Query& query,
                         const std::string& key) {
    const auto [it, is_new] = expected_.try_emplace(key);
    if (is_new) {
      it->second = *AnswerQuery(*parallelizers_.at(adapter), context_->pairs,
                                query, nullptr);
    }
    return it->second;
  }

  // Changes the next answer that passes, and no other.
  void TamperOnce(uint32_t seed, Seal seal) {
    const std::lock_guard lock(mutex_);
    rng_.seed(seed);
    seal_ = seal;
    changes_left_ = 1;
    path_.clear();
  }
  // The changed field; empty: none yet.
  std::string path() {
    const std::lock_guard lock(mutex_);
    return path_;
  }

  int64_t NumRejected(const std::string& worker) {
    for (const PoolWorkerStatus& status : service_.server().pool().Workers()) {
      if (status.info.name == worker) return status.rejected;
    }
    return 0;
  }

  // Asks two workers two questions and changes one of their answers. Returns
  // whether both results are those of an honest worker.
  bool AskTwo(int round) {
    const std::string adapter = kMutatedAdapters[round % 2];
    const std::vector<Query> queries = {MutationQuery(round / 2, 0),
                                        MutationQuery(round / 2, 1)};
    WorkerPool& pool = service_.server().pool();
    const auto result = pool.Run(
        {adapter, parallelizers_.at(adapter)->version()}, context_, queries);
    EXPECT_THAT(result, IsOk());
    if (!result.ok()) return false;
    bool all_right = true;
    for (int i = 0; i < 2; ++i) {
      const std::string key =
          absl::StrCat(adapter, round / 2 % 6, i, round / 2 % 3);
      all_right &=
          IsSame(result->answers[i], Expected(adapter, queries[i], key));
    }
    return all_right;
  }

  // Asks until the changed answer was given. A worker that was overtaken is not
  // asked for a while.
  bool AskUntilChanged(int round) {
    bool all_right = true;
    EXPECT_TRUE(Eventually([&] {
      all_right = AskTwo(round);
      return path() != "";
    })) << round;
    return all_right;
  }

  void AwaitWorkers() {
    ASSERT_TRUE(Eventually(
        [this] { return service_.server().pool().Counts().workers == 2; }));
  }

  std::mutex mutex_;
  std::mt19937 rng_;
  Seal seal_ = Seal::kLeftAsItWas;
  int changes_left_ = 0;
  std::string path_;

  const SharedContext context_ =
      std::make_shared<const QueryContext>(MutationContext());
  std::map<std::string, std::unique_ptr<Parallelizer>> parallelizers_;
  std::map<std::string, Answer> expected_;
  const TestTokens tokens_{{"user,team,plan", "victim,,work", "honest,,work"}};
  TestService service_{{.auth = tokens_.auth(),
                        .quarantine = {.max_rejections = 0},
                        .cache_bytes = 0,
                        .plan_cache_bytes = 0,
                        // A wrong answer that comes too late is blamed after
                        // its plan, and the tests look right away. So a busy
                        // machine must not make it late.
                        .queue = {.hedge_after_s = 10}}};
  std::unique_ptr<WorkerProxy> proxy_;

 private:
  void Tamper(v1::Answer& answer) {
    const std::lock_guard lock(mutex_);
    if (changes_left_ == 0) return;
    --changes_left_;
    path_ = MutateMessage(rng_, answer);
    if (seal_ == Seal::kMadeAgain) SealAnswer(answer);
  }
};

// Each change on the way is noticed, blamed on its worker, and asked again.
TEST_F(MutatedAnswersTest, NoChangeOnTheWayIsKept) {
  const int num_mutations = NumMutations();
  std::map<std::string, int> fields;
  for (int i = 0; i < num_mutations; ++i) {
    AwaitWorkers();
    const int64_t before = NumRejected("victim");
    TamperOnce(static_cast<uint32_t>(i), Seal::kLeftAsItWas);
    EXPECT_TRUE(AskUntilChanged(i)) << i << ": " << path();
    ASSERT_NE(path(), "") << i;
    ++fields[FieldOf(path())];
    EXPECT_TRUE(Eventually([&] { return NumRejected("victim") == before + 1; }))
        << i << ": " << path();
  }
  EXPECT_EQ(NumRejected("honest"), 0);
  std::cout << num_mutations << " changes of " << fields.size()
            << " fields: 0 kept, " << NumRejected("victim") << " blamed\n";

  // The changes do not affect plans either.
  {
    const std::lock_guard lock(mutex_);
    changes_left_ = 1 << 30;
  }
  grpc::ClientContext context;
  TestTokens::Authorize("user", context);
  ASSERT_OK_AND_ASSIGN(
      const PlanFile file,
      CallPlan(service_.address(), Encode(SmallRequest(), "mist"), context));
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "mist"));
}

// A faulty worker seals what it believes, so only the law can refuse it.
TEST_F(MutatedAnswersTest, TheLawAloneRefusesWhatItCanTell) {
  const int num_mutations = NumMutations();
  std::map<std::string, int> kept;
  int num_rejected = 0;
  int num_harmless = 0;
  for (int i = 0; i < num_mutations; ++i) {
    AwaitWorkers();
    const int64_t before = NumRejected("victim");
    TamperOnce(static_cast<uint32_t>(i), Seal::kMadeAgain);
    const bool all_right = AskUntilChanged(i);
    ASSERT_NE(path(), "") << i;
    if (NumRejected("victim") > before) {
      EXPECT_TRUE(all_right) << i << ": " << path();
      ++num_rejected;
    } else if (all_right) {
      ++num_harmless;
    } else {
      ++kept[FieldOf(path())];
      EXPECT_TRUE(IsTheWorkersWord(FieldOf(path()))) << i << ": " << path();
    }
  }
  std::cout << num_mutations << " changes: " << num_rejected << " refused, "
            << num_harmless << " without effect, kept:\n";
  for (const auto& [field, count] : kept) {
    std::cout << "  " << count << " " << field << "\n";
  }
  EXPECT_GT(num_rejected, num_mutations / 3);
}

}  // namespace
}  // namespace tangram::testing
