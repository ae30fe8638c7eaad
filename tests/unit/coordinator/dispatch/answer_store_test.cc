// A pool between a store that may hold anything and several tenants.
#include "coordinator/dispatch/answer_store.h"

#include <map>
#include <mutex>
#include <string>

#include "coordinator/dispatch/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/fingerprint_attack.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/counting_parallelizer.h"
#include "tests/unit/coordinator/dispatch/pool_workers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

// Holds the inserted answers, and those that a test puts there.
class MemoryStore : public AnswerStore {
 public:
  std::vector<std::optional<Answer>> Find(
      absl::Span<const Question> questions) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::optional<Answer>> found;
    for (const Question& question : questions) {
      const auto it = answers_.find(question.key);
      found.push_back(it == answers_.end() ? std::nullopt
                                           : std::make_optional(it->second));
    }
    return found;
  }
  void Insert(const std::vector<AnsweredQuestion>& answers,
              std::function<void()> on_settled) override {
    {
      const std::lock_guard lock(mutex_);
      for (const AnsweredQuestion& answered : answers) {
        answers_.insert_or_assign(answered.question.key, answered.answer);
      }
    }
    on_settled();
  }
  void Drop(const QueryKey& key, const absl::Status& reason) override {
    const std::lock_guard lock(mutex_);
    answers_.erase(key);
    reasons_.emplace_back(reason.message());
  }

  size_t size() const { return answers_.size(); }
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  std::mutex mutex_;
  std::map<QueryKey, Answer> answers_;
  std::vector<std::string> reasons_;
};

// Answers with no plans, because of the type of the GPUs.
class TypeParallelizer : public testing::CountingParallelizer {
 public:
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice&, const IslandSpec& island,
      const ParallelizeOptions&) const override {
    ++num_calls;
    return SlicePlanSet{.infeasible = Infeasible{.reason = island.device.type}};
  }
};

const AdapterId kAdapter{"counting", "1"};

class AnswerStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<WorkerPool> NewPool(bool share_answers) {
    return std::make_unique<WorkerPool>(
        WorkerPoolOptions{.now_s = [] { return 0; },
                          .store = &store_,
                          .share_answers = share_answers},
        nullptr);
  }
  static SharedContext ContextOf(const std::string& device_type) {
    PairContext context = testing::CountingContext();
    context.islands[0].device.type = device_type;
    return std::make_shared<const QueryContext>(std::move(context));
  }
  // Returns the reason in the answer to one query of `tenant`.
  static std::string Ask(WorkerPool& pool, const std::string& tenant,
                         const std::string& device_type) {
    const auto result =
        pool.Run(kAdapter, ContextOf(device_type),
                 std::vector<Query>{PairQuery()}, {}, {.key = tenant});
    EXPECT_THAT(result, testing::IsOk());
    return std::get<SlicePlanSet>(result->answers[0]).infeasible->reason;
  }

  MemoryStore store_;
  TypeParallelizer parallelizer_;
};

TEST_F(AnswerStoreTest, AnUnlawfulAnswerIsDroppedAndAskedAgain) {
  const SharedContext context = ContextOf("a");
  SliceStage stage;
  stage.plan.end = {1, 0};
  stage.plan.parallelism.dp_degree = 1 << 20;
  stage.time_s = 1;
  store_.Insert(
      {{QuestionWriter({kAdapter, "t"}, context.get()).Write(PairQuery()),
        SlicePlanSet{.plans = {{.stages = {stage}, .made_by = "counting"}}}}},
      [] {});
  const auto pool = NewPool(false);
  const testing::ThreadWorker worker(*pool, parallelizer_);
  EXPECT_EQ(Ask(*pool, "t", "a"), "a");
  EXPECT_EQ(parallelizer_.num_calls, 1);
  EXPECT_THAT(store_.reasons(),
              ElementsAre(::testing::HasSubstr("dp_degree: 1048576")));
  // The store now has the worker's answer instead.
  EXPECT_EQ(Ask(*NewPool(false), "t", "a"), "a");
  EXPECT_EQ(parallelizer_.num_calls, 1);
}

TEST_F(AnswerStoreTest, TenantsGetAnswersOfTheirOwn) {
  const auto pool = NewPool(false);
  const testing::ThreadWorker worker(*pool, parallelizer_);
  EXPECT_EQ(Ask(*pool, "one", "a"), "a");
  EXPECT_EQ(Ask(*pool, "two", "a"), "a");
  EXPECT_EQ(Ask(*pool, "one", "a"), "a");
  EXPECT_EQ(parallelizer_.num_calls, 2);
  EXPECT_EQ(store_.size(), 2u);
}

TEST_F(AnswerStoreTest, SharedAnswersServeAllTenants) {
  const auto pool = NewPool(true);
  const testing::ThreadWorker worker(*pool, parallelizer_);
  EXPECT_EQ(Ask(*pool, "one", "a"), "a");
  EXPECT_EQ(Ask(*pool, "two", "a"), "a");
  EXPECT_EQ(parallelizer_.num_calls, 1);
  EXPECT_EQ(store_.size(), 1u);
}

TEST_F(AnswerStoreTest, AForgedFingerprintGetsNobodyElsesAnswer) {
  const std::string type = "A100-80 of team blue";
  const std::string forged = testing::TextWithFingerprintOf(type);
  ASSERT_EQ(FingerprintOf(ContextOf(type)->pairs.islands[0]),
            FingerprintOf(ContextOf(forged)->pairs.islands[0]));
  for (const bool share_answers : {false, true}) {
    const auto pool = NewPool(share_answers);
    const testing::ThreadWorker worker(*pool, parallelizer_);
    EXPECT_EQ(Ask(*pool, "evil", forged), forged);
    EXPECT_EQ(Ask(*pool, "good", type), type);
  }
}

}  // namespace
}  // namespace tangram
