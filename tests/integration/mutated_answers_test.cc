#include <grpcpp/client_context.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/wire/worker_pool_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/messages/mutate_message.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/service/test_tokens.h"
#include "tests/testing/service/worker_proxy.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

constexpr const char* kAdapters[] = {"aceso", "mist"};

// Returns the number of mutations. TANGRAM_MUTATIONS=1000 takes longer.
int NumMutations() {
  const char* text = std::getenv("TANGRAM_MUTATIONS");
  int count = 150;
  if (text != nullptr && !absl::SimpleAtoi(text, &count)) {
    ADD_FAILURE() << "TANGRAM_MUTATIONS: " << text;
  }
  return count;
}

// Returns a path without its indices: "plans.stages.time_s".
std::string FieldOf(const std::string& path) {
  std::string field;
  bool in_index = false;
  for (const char c : path) {
    if (c == '[') in_index = true;
    if (!in_index) field.push_back(c);
    if (c == ']') in_index = false;
  }
  return field;
}

// Returns whether two answers are equal except for rounding of times. The law
// allows that, because searches add layers up in different orders.
bool IsSame(Answer found, const Answer& expected) {
  auto* const set = std::get_if<SlicePlanSet>(&found);
  const auto* const other = std::get_if<SlicePlanSet>(&expected);
  if (set == nullptr || other == nullptr ||
      set->plans.size() != other->plans.size()) {
    return found == expected;
  }
  const auto round = [](double& value, double to) {
    if (std::abs(value - to) <= 1e-9 * to) value = to;
  };
  for (size_t i = 0; i < set->plans.size(); ++i) {
    std::vector<SliceStage>& stages = set->plans[i].stages;
    if (stages.size() != other->plans[i].stages.size()) return false;
    for (size_t k = 0; k < stages.size(); ++k) {
      const SliceStage& stage = other->plans[i].stages[k];
      round(stages[k].time_s, stage.time_s);
      round(stages[k].backward_s, stage.backward_s);
      round(stages[k].sync_s, stage.sync_s);
    }
  }
  return found == expected;
}

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
    for (const char* adapter : kAdapters) {
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
    for (const char* adapter : kAdapters) {
      options.parallelizers.push_back(*CreateBuiltinParallelizer(adapter));
    }
    service_.AddWorker(std::move(options));
  }

  static PairContext Context() {
    IslandSpec island = TestIsland(2, 4);
    island.device.host = {.bandwidth_bytes_per_s = 16e9, .memory_bytes = 256e9};
    // Little memory, so that answers recompute, offload and allow few trailing
    // stages.
    island.device.memory_bytes = 3e9;
    return {.training = TestTraining(32),
            .slices = {MakeSlice({0, 8}, TestModel(6).layers)},
            .islands = {island}};
  }

  // Returns a query of each kind. `variant` makes different ones.
  static Query QueryOf(int kind, int variant) {
    const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(6));
    switch (kind % 6) {
      case 0:
        return SliceModelQuery{TestModel(2 + variant)};
      case 1:
        return ConcatenateQuery{atoms[variant], atoms[variant + 1]};
      case 2:
        return ProfileQuery{.pipeline_microbatch_size = 4 << variant};
      default:
        return PairQuery{.pipeline_microbatch_size = 4 << variant,
                         .trailing_stages = kind % 3};
    }
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
    const std::string adapter = kAdapters[round % 2];
    const std::vector<Query> queries = {QueryOf(round / 2, 0),
                                        QueryOf(round / 2, 1)};
    WorkerPool& pool = service_.server().pool();
    const auto result =
        pool.Run({adapter, parallelizers_.at(adapter)->version()}, context_,
                 queries, nullptr, nullptr);
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
      std::make_shared<const QueryContext>(Context());
  std::map<std::string, std::unique_ptr<Parallelizer>> parallelizers_;
  std::map<std::string, Answer> expected_;
  const TestTokens tokens_{{"user,team,plan", "victim,,work", "honest,,work"}};
  TestService service_{{.auth = tokens_.auth(),
                        .quarantine = {.max_rejections = 0},
                        .cache_bytes = 0,
                        .plan_cache_bytes = 0,
                        .queue = {.hedge_after_s = 0.5}}};
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
    TamperOnce(static_cast<uint32_t>(i), Seal::kLeftAsItWas);
    EXPECT_TRUE(AskTwo(i)) << i << ": " << path();
    ASSERT_NE(path(), "") << i;
    ++fields[FieldOf(path())];
    EXPECT_TRUE(Eventually([&] { return NumRejected("victim") == i + 1; }))
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

// Fields that are taken at the worker's word. Nobody else can tell which plans
// a search left out, how hard it searched, or how tight its bound is. docs/adr
// has the decision on checking answers.
bool IsTheWorkersWord(const std::string& field) {
  for (const char* prefix :
       {"profile.", "parallelize.plans (dropped)",
        "parallelize.plans (repeated)", "parallelize.plans (swapped)",
        "parallelize.covers_trailing_stages", "parallelize.search_steps",
        "parallelize.truncated", "parallelize.infeasible", "error", "id",
        "waited_s", "search_s",
        // Irrelevant for a stage with one replica.
        "parallelize.plans.stages.plan.parallelism.zero_stage",
        "parallelize.plans.stages.plan.parallelism.sequence_parallel",
        "parallelize.plans.stages.plan.recompute"}) {
    if (absl::StartsWith(field, prefix)) return true;
  }
  return false;
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
    const bool all_right = AskTwo(i);
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
