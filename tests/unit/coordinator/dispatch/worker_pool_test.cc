#include "coordinator/dispatch/worker_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/worker_pool_fixture.h"

namespace tangram {
namespace {

using ::testing::_;
using testing::CountedAnswer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InfoOf;
using testing::kCounting;
using testing::Named;
using testing::RecordingLog;
using testing::RecordingWorker;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::ThreadWorker;
using testing::WorkerPoolTest;

TEST_F(WorkerPoolTest, AnswersComeInTheOrderOfTheQueries) {
  const ThreadWorker a(pool_, parallelizer_);
  const ThreadWorker b(pool_, parallelizer_);
  ASSERT_OK_AND_ASSIGN(const auto result, Run(Queries(200)));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(StepsOf(result)[i], i);
  EXPECT_EQ(observer_.events[QueryEvent::kAnswered], 200);
}

TEST_F(WorkerPoolTest, ReportsProgressUpToTheEnd) {
  const ThreadWorker worker(pool_, parallelizer_);
  std::vector<int> reports;
  ASSERT_OK_AND_ASSIGN(const auto result,
                       pool_.Run(kCounting, context_, Queries(50),
                                 {.progress = [&](int done, int total) {
                                   EXPECT_EQ(total, 50);
                                   reports.push_back(done);
                                 }}));
  EXPECT_EQ(result.answers.size(), 50u);
  EXPECT_EQ(reports.back(), 50);
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
}

TEST_F(WorkerPoolTest, EqualQueriesAreAskedOnce) {
  const ThreadWorker worker(pool_, parallelizer_);
  std::vector<Query> queries = Queries(10);
  const std::vector<Query> again = Queries(10);
  queries.insert(queries.end(), again.begin(), again.end());
  ASSERT_OK_AND_ASSIGN(const auto first, Run(queries));
  EXPECT_EQ(parallelizer_.num_calls, 10);
  EXPECT_EQ(first.cache_hits, 0);
  EXPECT_EQ(StepsOf(first)[13], 3);

  ASSERT_OK_AND_ASSIGN(const auto second, Run(Queries(12)));
  EXPECT_EQ(parallelizer_.num_calls, 12);
  EXPECT_EQ(second.cache_hits, 10);
  EXPECT_EQ(observer_.hits, 10);
  EXPECT_EQ(observer_.misses, 22);  // 20, then the 2 that were new.
}

TEST_F(WorkerPoolTest, TheFirstFailingQueryDecidesTheError) {
  parallelizer_.fail = [](int64_t step) { return step % 10 == 7; };
  const ThreadWorker a(pool_, parallelizer_);
  const ThreadWorker b(pool_, parallelizer_);
  EXPECT_THAT(Run(Queries(100)), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr(": step 7")));
}

TEST_F(WorkerPoolTest, ABatchThatIsInFlightIsShared) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 2), worker);
  auto first = RunAside(Queries(2));
  const std::vector<TaskId> tasks = worker.AwaitLeases(2);
  auto second = RunAside(Queries(2));
  while (observer_.misses < 4) std::this_thread::yield();
  AnswerWith(id, tasks[0], 10);
  AnswerWith(id, tasks[1], 11);
  EXPECT_THAT(StepsOf(*first.get()), ElementsAre(10, 11));
  EXPECT_THAT(StepsOf(*second.get()), ElementsAre(10, 11));
  EXPECT_THAT(worker.AwaitLeases(2), SizeIs(2));
}

// A store that settles only when the test says so.
class SlowStore : public AnswerStore {
 public:
  std::vector<std::optional<Answer>> Find(
      absl::Span<const Question> questions) override {
    ++num_finds_;
    return {questions.size(), std::nullopt};
  }
  void Drop(const QueryKey&, const absl::Status&) override {}
  void Insert(const std::vector<AnsweredQuestion>&,
              std::function<void()> on_settled) override {
    unsettled_.push_back(std::move(on_settled));
  }
  void Settle() {
    for (const auto& on_settled : std::exchange(unsettled_, {})) on_settled();
  }
  int num_finds() const { return num_finds_; }

 private:
  std::atomic<int> num_finds_ = 0;
  std::vector<std::function<void()>> unsettled_;
};

class StoringPoolTest : public WorkerPoolTest {
 protected:
  explicit StoringPoolTest(int64_t cache_bytes = 0)
      : WorkerPoolTest({.cache_bytes = cache_bytes, .store = &store_}) {}

  SlowStore store_;
};

TEST_F(StoringPoolTest, AQueryIsAnsweredOnceItsAnswerIsKept) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
  auto first = RunAside(Queries(1));
  AnswerWith(id, worker.AwaitLeases(1)[0], 10);
  EXPECT_EQ(pool_.Counts().leased, 0);
  EXPECT_EQ(observer_.events[QueryEvent::kAnswered], 0);
  // A caller that asks the same meanwhile waits too.
  auto second = RunAside(Queries(1));
  while (observer_.misses < 2) std::this_thread::yield();
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);

  store_.Settle();
  EXPECT_THAT(StepsOf(*first.get()), ElementsAre(10));
  EXPECT_THAT(StepsOf(*second.get()), ElementsAre(10));
  EXPECT_EQ(observer_.events[QueryEvent::kAnswered], 1);
}

TEST_F(StoringPoolTest, NobodyMayWaitAnyMore) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
  auto run = RunAside(Queries(1));
  AnswerWith(id, worker.AwaitLeases(1)[0], 10);
  stop_ = true;
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kCancelled, _));
  pool_.Disconnect(id);
  store_.Settle();
  EXPECT_EQ(observer_.events[QueryEvent::kAnswered], 1);
}

class CachingPoolTest : public StoringPoolTest {
 protected:
  CachingPoolTest() : StoringPoolTest(/*cache_bytes=*/1 << 20) {}
};

TEST_F(CachingPoolTest, TheStoreIsNotAskedForWhatIsInTheCache) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
  auto first = RunAside(Queries(1));
  AnswerWith(id, worker.AwaitLeases(1)[0], 10);
  store_.Settle();
  EXPECT_THAT(StepsOf(*first.get()), ElementsAre(10));
  EXPECT_EQ(store_.num_finds(), 1);

  EXPECT_THAT(StepsOf(*RunAside(Queries(1)).get()), ElementsAre(10));
  EXPECT_EQ(store_.num_finds(), 1);
}

TEST_F(WorkerPoolTest, StoppingRevokesTheLeases) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 2), worker);
  auto run = RunAside(Queries(5));
  const std::vector<TaskId> tasks = worker.AwaitLeases(2);
  stop_ = true;
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_THAT(worker.cancelled(),
              ::testing::IsSupersetOf({tasks[0], tasks[1]}));
  EXPECT_EQ(pool_.Counts().pending, 0);
  EXPECT_EQ(pool_.Counts().leased, 0);
  AnswerWith(id, tasks[0], 10);  // Too late, and harmless.
}

TEST_F(WorkerPoolTest, ALostWorkersQueriesGoToAnother) {
  auto doomed = std::make_unique<RecordingWorker>();
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 3), *doomed);
  auto run = RunAside(Queries(3));
  doomed->AwaitLeases(3);
  const ThreadWorker heir(pool_, parallelizer_);
  pool_.Disconnect(id);
  doomed.reset();
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(0, 1, 2));
  EXPECT_EQ(observer_.events[QueryEvent::kLost], 3);
  EXPECT_EQ(observer_.workers_lost, 1);
}

TEST_F(WorkerPoolTest, OnlyAWorkerWithoutQueriesMayBeSilent) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
  auto run = RunAside(Queries(1));
  const TaskId task = worker.AwaitLeases(1)[0];
  pool_.AllowSilence(id);
  EXPECT_EQ(worker.silence_s(), std::nullopt);
  AnswerWith(id, task, 0);
  ASSERT_TRUE(run.get().ok());
  pool_.AllowSilence(id);
  EXPECT_EQ(worker.silence_s(), kHeartbeatS);
}

TEST_F(WorkerPoolTest, ASilentWorkerIsClosedAndReplaced) {
  RecordingWorker silent;
  pool_.Connect(InfoOf(parallelizer_, 3), silent);
  auto run = RunAside(Queries(3));
  silent.AwaitLeases(3);
  now_s_ = 24;
  RecordingWorker loud;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 3), loud);
  pool_.Tick();
  EXPECT_FALSE(silent.is_closed());
  now_s_ = 26;
  pool_.Heard(id);
  pool_.Tick();
  EXPECT_TRUE(silent.is_closed());
  EXPECT_FALSE(loud.is_closed());
  for (const TaskId task : loud.AwaitLeases(3)) AnswerWith(id, task, 5);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(5, 5, 5));
}

TEST_F(WorkerPoolTest, TheLogHasEveryAttemptOfAQuery) {
  RecordingWorker first;
  RecordingWorker second;
  RecordingLog log;
  const WorkerId slow =
      pool_.Connect({.name = "slow", .adapters = {{.id = kCounting}}}, first);
  auto run = std::async(std::launch::async, [&] {
    return pool_.Run(kCounting, context_, Queries(1), {.log = &log});
  });
  const TaskId task = first.AwaitLeases(1)[0];
  now_s_ = 40;  // Longer than WorkQueueOptions::hedge_after_s.
  pool_.Heard(slow);
  const WorkerId quick =
      pool_.Connect({.name = "quick", .adapters = {{.id = kCounting}}}, second);
  now_s_ = 42;
  pool_.OnAnswers(quick, {{.task = second.AwaitLeases(1)[0],
                           .answer = Answer(CountedAnswer(0)),
                           .waited_s = 0.5,
                           .search_s = 1.5}});
  EXPECT_TRUE(run.get().ok());
  EXPECT_THAT(first.cancelled(), ElementsAre(task));
  EXPECT_EQ(observer_.events[QueryEvent::kHedged], 1);
  EXPECT_THAT(observer_.waits_s, ElementsAre(0));
  ASSERT_THAT(log.attempts, SizeIs(2));
  EXPECT_EQ(log.attempts[0].worker, "slow");
  EXPECT_EQ(log.attempts[0].outcome, QueryEvent::kCancelled);
  EXPECT_EQ(log.attempts[0].leased_s, 0);
  EXPECT_EQ(log.attempts[0].ended_s, 42);
  EXPECT_EQ(log.attempts[1].worker, "quick");
  EXPECT_EQ(log.attempts[1].outcome, QueryEvent::kAnswered);
  EXPECT_EQ(log.attempts[1].leased_s, 40);
  EXPECT_EQ(log.attempts[1].search_s, 1.5);

  EXPECT_TRUE(pool_.Run(kCounting, context_, Queries(1), {.log = &log}).ok());
  EXPECT_EQ(log.num_asked, 1);
  EXPECT_EQ(log.num_cached, 1);
}

TEST_F(WorkerPoolTest, AttemptsOfWorkersWithOneNameAreToldApart) {
  RecordingWorker first;
  RecordingWorker second;
  RecordingLog log;
  const WorkerInfo twin = {.name = "twin", .adapters = {{.id = kCounting}}};
  const WorkerId slow = pool_.Connect(twin, first);
  auto run = std::async(std::launch::async, [&] {
    return pool_.Run(kCounting, context_, Queries(1), {.log = &log});
  });
  first.AwaitLeases(1);
  now_s_ = 40;  // Longer than WorkQueueOptions::hedge_after_s.
  pool_.Heard(slow);
  const WorkerId quick = pool_.Connect(twin, second);
  now_s_ = 42;
  AnswerWith(quick, second.AwaitLeases(1)[0], 1);
  EXPECT_TRUE(run.get().ok());

  ASSERT_THAT(log.attempts, SizeIs(2));
  EXPECT_EQ(log.attempts[0].outcome, QueryEvent::kCancelled);
  EXPECT_EQ(log.attempts[1].outcome, QueryEvent::kAnswered);
  EXPECT_EQ(log.attempts[1].worker_id, quick);
}

TEST_F(WorkerPoolTest, ATaskThatKillsWorkersIsAnError) {
  auto run = RunAside(Queries(1));
  for (int i = 0; i < 3; ++i) {
    RecordingWorker worker;
    const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
    worker.AwaitLeases(1);
    pool_.Disconnect(id);
    now_s_ = now_s_ + 30;
  }
  EXPECT_THAT(run.get(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("given up after workers were lost 3 times")));
}

TEST_F(WorkerPoolTest, AStragglerIsDoubledAndTheFirstAnswerCounts) {
  RecordingWorker slow;
  const WorkerId slow_id = pool_.Connect(InfoOf(parallelizer_, 1), slow);
  auto run = RunAside(Queries(1));
  const TaskId task = slow.AwaitLeases(1)[0];
  RecordingWorker idle;
  const WorkerId idle_id = pool_.Connect(InfoOf(parallelizer_, 1), idle);
  for (const double now_s : {10, 20, 31}) {
    now_s_ = now_s;
    pool_.Heard(slow_id);
    pool_.Heard(idle_id);
    pool_.Tick();
  }
  EXPECT_THAT(idle.AwaitLeases(1), ElementsAre(task));
  AnswerWith(idle_id, task, 7);

  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(7));
  EXPECT_THAT(slow.cancelled(), ElementsAre(task));
  AnswerWith(slow_id, task, 8);  // Too late.
  EXPECT_EQ(observer_.events[QueryEvent::kAnswered], 1);
}

TEST_F(WorkerPoolTest, AQueryThatKillsWorkersFailsNobodyElse) {
  auto poisoned = RunAside(Queries(1));
  for (int i = 0; i < 3; ++i) {
    RecordingWorker doomed;
    const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), doomed);
    doomed.AwaitLeases(1);
    pool_.Disconnect(id);
    now_s_ = now_s_ + 30;
  }
  EXPECT_THAT(poisoned.get(), StatusIs(absl::StatusCode::kInternal,
                                       HasSubstr("the last one: test")));
  EXPECT_EQ(observer_.events[QueryEvent::kGivenUp], 1);

  const ThreadWorker worker(pool_, parallelizer_);
  ASSERT_OK_AND_ASSIGN(const auto result, Run(Queries(3, /*first=*/1)));
  EXPECT_THAT(StepsOf(result), ElementsAre(1, 2, 3));
}

TEST_F(WorkerPoolTest, ASmallBatchIsDoneWhileALargeOneIsUnderWay) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
  auto large = RunAside(Queries(1000, /*first=*/100));
  size_t answered = 0;
  const auto answer = [&] {
    AnswerWith(id, worker.AwaitLeases(answered + 1)[answered], 0);
    ++answered;
  };
  while (answered < 20) answer();
  auto small = RunAside(Queries(3));
  while (observer_.misses < 1003) std::this_thread::yield();
  // At most those that it has been leased by then, then turn by turn.
  const size_t enough = 20 + (1 + WorkQueue::kMostPrefetch) + 2 * 3;
  while (small.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (answered < enough) answer();
  }

  EXPECT_TRUE(small.get().ok());
  stop_ = true;
  EXPECT_THAT(large.get(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(WorkerPoolTest, VersionsAreNeverMixed) {
  RecordingWorker newer;
  WorkerInfo info = InfoOf(parallelizer_, 4);
  info.adapters[0].id.version = "2";
  const WorkerId id = pool_.Connect(info, newer);
  auto old = RunAside(Queries(2));
  auto run = std::async(std::launch::async, [this] {
    return pool_.Run({"counting", "2"}, context_, Queries(2));
  });
  for (const TaskId task : newer.AwaitLeases(2)) AnswerWith(id, task, 2);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(2, 2));
  EXPECT_THAT(newer.AwaitLeases(2), SizeIs(2));

  const ThreadWorker older(pool_, parallelizer_);
  EXPECT_THAT(StepsOf(*old.get()), ElementsAre(0, 1));
}

TEST_F(WorkerPoolTest, LostLeasesOfHedgedQueriesAreCounted) {
  RecordingWorker slow;
  const WorkerId slow_id = pool_.Connect(Named("twin"), slow);
  auto run = RunAside(Queries(1));
  const TaskId task = slow.AwaitLeases(1)[0];
  now_s_ = 40;  // Longer than WorkQueueOptions::hedge_after_s.
  pool_.Heard(slow_id);
  RecordingWorker quick;
  const WorkerId quick_id = pool_.Connect(Named("twin"), quick);
  quick.AwaitLeases(1);

  pool_.Disconnect(slow_id);
  EXPECT_EQ(observer_.events[QueryEvent::kLost], 1);
  AnswerWith(quick_id, task, 3);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(3));
}

TEST_F(WorkerPoolTest, ADrainingWorkerHandsBackAndLeaves) {
  RecordingWorker leaving;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 2), leaving);
  auto run = RunAside(Queries(2));
  const std::vector<TaskId> tasks = leaving.AwaitLeases(2);
  pool_.Drain(id);
  EXPECT_EQ(pool_.Counts().draining, 1);
  AnswerWith(id, tasks[0], 10);
  pool_.OnHandedBack(id, tasks[1]);
  const ThreadWorker heir(pool_, parallelizer_);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(10, 1));
  pool_.Disconnect(id);
  EXPECT_EQ(observer_.workers_lost, 0);
}

TEST_F(WorkerPoolTest, WaitsForAWorkerThatOffersTheAdapter) {
  auto found = std::async(std::launch::async, [this] {
    return pool_.FindAdapter("counting", nullptr);
  });
  const ThreadWorker worker(pool_, parallelizer_);
  EXPECT_EQ(found.get()->id, kCounting);
}

// Slots, names and connections are a worker's own words.
TEST_F(WorkerPoolTest, AWorkerCannotChooseTheVersionForAll) {
  RecordingWorker worker;
  pool_.Connect(Named("honest"), worker);
  WorkerInfo liar = Named("liar", 4096);
  liar.adapters[0].id.version = "9";
  for (const char* name : {"liar", "another", "and another"}) {
    liar.name = name;
    pool_.Connect(liar, worker);
  }
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id.version, "1");
}

TEST_F(WorkerPoolTest, TheVersionOfMostWorkersIsUsed) {
  RecordingWorker worker;
  pool_.Connect(Named("w1"), worker);
  for (const char* name : {"w2", "w3"}) {
    WorkerInfo info = Named(name);
    info.adapters[0].id.version = "2";
    pool_.Connect(info, worker);
  }
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id.version, "2");
}

TEST_F(WorkerPoolTest, WhatNoWorkerEverOfferedIsRefused) {
  RecordingWorker worker;
  pool_.Connect(Named("w1"), worker);
  now_s_ = 10;  // Longer than workers take to dial in.
  EXPECT_THAT(pool_.FindAdapter("acesoo", nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "parallelizer: \"acesoo\"; expected one of counting"));
}

TEST_F(WorkerPoolTest, FewOfTheNamesThatWorkersOfferAreRememberedAndTold) {
  RecordingWorker worker;
  WorkerInfo info = Named("w1");
  for (int i = 0; i < 100'000; ++i) {
    info.adapters.push_back({.id = {absl::StrCat("a", i), "1"}});
  }
  pool_.Connect(info, worker);
  now_s_ = 10;
  const absl::Status status = pool_.FindAdapter("acesoo", nullptr).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_LT(status.message().size(), 500);
}

TEST_F(WorkerPoolTest, WhatWasOfferedOnceIsWaitedFor) {
  RecordingWorker worker;
  WorkerInfo both = Named("w1");
  both.adapters.push_back({.id = {"aceso", "1"}});
  const WorkerId id = pool_.Connect(both, worker);
  pool_.Connect(Named("w2"), worker);
  pool_.Disconnect(id);
  now_s_ = 10;
  auto found = std::async(std::launch::async, [this] {
    return pool_.FindAdapter("aceso", nullptr);
  });
  pool_.Connect(both, worker);
  EXPECT_EQ(found.get()->id.name, "aceso");
}

class ImpatientPoolTest : public WorkerPoolTest {
 protected:
  ImpatientPoolTest() : WorkerPoolTest({.worker_wait_s = 0}) {}
};

TEST_F(ImpatientPoolTest, FailsAtOnceWithoutAWorker) {
  EXPECT_THAT(pool_.FindAdapter("aceso", nullptr),
              StatusIs(absl::StatusCode::kUnavailable,
                       "no worker offers adapter \"aceso\" (0 workers "
                       "connected)"));
  EXPECT_THAT(Run(Queries(1)), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr("\"counting\"")));
}

TEST_F(ImpatientPoolTest, FailsOnceTheLastWorkerIsLost) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(InfoOf(parallelizer_, 1), worker);
  auto run = RunAside(Queries(2));
  worker.AwaitLeases(1);
  pool_.Disconnect(id);
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kUnavailable, _));
}

// Workers come and go while several callers ask overlapping questions. They are
// one source, and the steady worker is another: else three visits with one
// query would end it.
TEST_F(WorkerPoolTest, EveryAnswerIsRightWhateverHappensToWorkers) {
  constexpr int kCallers = 3;
  constexpr int kRounds = 20;
  const ThreadWorker steady(pool_, parallelizer_, {.host = "steady"});
  std::atomic<bool> is_done = false;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      std::mt19937 rng(c);
      for (int round = 0; round < kRounds; ++round) {
        const int first = std::uniform_int_distribution<int>(0, 500)(rng);
        const auto result = Run(Queries(40, first));
        ASSERT_TRUE(result.ok()) << result.status();
        for (int i = 0; i < 40; ++i) {
          ASSERT_EQ(StepsOf(*result)[i], first + i);
        }
      }
    });
  }
  std::thread visitors([&] {
    while (!is_done) {
      const ThreadWorker visitor(pool_, parallelizer_, {.host = "visitor"});
      pool_.Tick();
      std::this_thread::yield();
    }
  });
  for (std::thread& caller : callers) caller.join();
  is_done = true;
  visitors.join();
  EXPECT_EQ(pool_.Counts().pending, 0);
  EXPECT_EQ(pool_.Counts().leased, 0);
}

}  // namespace
}  // namespace tangram
