#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/worker_pool_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kCounting;
using testing::Named;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::WorkerPoolTest;

class VersionsTest : public WorkerPoolTest {
 protected:
  using WorkerPoolTest::WorkerPoolTest;

  static WorkerInfo Offering(const std::string& name,
                             const std::vector<AdapterId>& adapters) {
    WorkerInfo info = Named(name);
    info.adapters.clear();
    for (const AdapterId& id : adapters) info.adapters.push_back({.id = id});
    return info;
  }
  static std::vector<AdapterId> IdsOf(const WorkerPool::AdapterList& list) {
    std::vector<AdapterId> ids;
    for (const AdapterInfo& adapter : list.adapters) ids.push_back(adapter.id);
    return ids;
  }
  // Makes all answers of a worker wrong until it is in quarantine.
  void MakeQuarantined(Peer& peer, const AdapterId& adapter) {
    for (int i = 0; i < 3; ++i) {
      auto run = std::async(std::launch::async, [this, adapter, i] {
        return pool_.Run(adapter, context_, Queries(1, i));
      });
      const TaskId task = peer.connection.AwaitLeases(i + 1)[i];
      pool_.OnAnswers(peer.id, {{task, Answer(PerformanceProfile())}});
      run.get().IgnoreError();
    }
  }
};

TEST_F(VersionsTest, UnfitVersionsAreNotFound) {
  Peer older;
  Peer newer;
  older.id = pool_.Connect(Offering("older", {{"mist", "1"}, {"alpa", "1"}}),
                           older.connection);
  newer.id =
      pool_.Connect(Offering("newer", {{"mist", "2"}}), newer.connection);
  const auto found = [&](const std::set<AdapterId>& unfit) {
    return pool_.FindAdapter("mist", nullptr, unfit)->id.version;
  };
  EXPECT_EQ(found({}), "1");
  EXPECT_EQ(found({{"mist", "1"}}), "2");
  EXPECT_TRUE(pool_.IsOffered("mist", {{"mist", "1"}}));
  EXPECT_FALSE(pool_.IsOffered("mist", {{"mist", "1"}, {"mist", "2"}}));
  EXPECT_THAT(IdsOf(*pool_.AllAdapters(nullptr, {{"mist", "1"}})),
              ElementsAre(AdapterId{"alpa", "1"}, AdapterId{"mist", "2"}));
  // One vote each: the version that has failed loses.
  const Digest before = pool_.OfferedAdapters();
  pool_.NoteFailed({"mist", "1"});
  EXPECT_EQ(found({}), "2");
  EXPECT_NE(pool_.OfferedAdapters(), before);
}

TEST_F(VersionsTest, WhatOnlyWorkersInQuarantineOfferIsWithheld) {
  Peer bad;
  Peer honest;
  bad.id =
      pool_.Connect(Offering("bad", {{"zen", "1"}, kCounting}), bad.connection);
  honest.id = pool_.Connect(Named("honest"), honest.connection);
  MakeQuarantined(bad, {"zen", "1"});
  const auto all = pool_.AllAdapters(nullptr);
  EXPECT_THAT(IdsOf(*all), ElementsAre(kCounting));
  ASSERT_THAT(all->withheld, SizeIs(1));
  EXPECT_THAT(all->withheld.at("zen"),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("1 in quarantine: bad")));
}

// A pool in which a complete fleet also offers "mist".
class FleetTest : public VersionsTest {
 protected:
  FleetTest()
      : VersionsTest({.worker_wait_s = 1000,
                      .usual_adapters = {kCounting.name, "mist"}}) {}

  std::future<std::vector<AdapterId>> AllAside() {
    return std::async(std::launch::async,
                      [this] { return IdsOf(*pool_.AllAdapters(nullptr)); });
  }
  static bool Waits(const std::future<std::vector<AdapterId>>& ids) {
    return ids.wait_for(std::chrono::milliseconds(200)) ==
           std::future_status::timeout;
  }

  const AdapterId mist_{"mist", "1"};
};

TEST_F(FleetTest, TheFirstWorkerIsNotTakenForAllOfThem) {
  Peer first;
  Peer second;
  pool_.Connect(Named("first"), first.connection);
  auto ids = AllAside();
  EXPECT_TRUE(Waits(ids));
  pool_.Connect(Offering("second", {kCounting, mist_}), second.connection);
  EXPECT_THAT(ids.get(), ElementsAre(kCounting, mist_));
}

TEST_F(FleetTest, AUsualAdapterIsWaitedForWhoeverWasFirst) {
  Peer early;
  Peer late;
  pool_.Connect(Offering("early", {{"other", "1"}}), early.connection);
  now_s_ = 100;
  auto found = std::async(std::launch::async, [this] {
    return pool_.FindAdapter("mist", nullptr);
  });
  EXPECT_EQ(found.wait_for(std::chrono::milliseconds(200)),
            std::future_status::timeout);
  pool_.Connect(Offering("late", {mist_}), late.connection);
  EXPECT_EQ(found.get()->id, mist_);
}

// A job waits in the queue instead, where it holds no place.
TEST_F(FleetTest, WhoMayWaitElsewhereWaitsOnlyAfterAStart) {
  Peer early;
  pool_.Connect(Offering("early", {{"other", "1"}}), early.connection);
  auto found = std::async(std::launch::async, [this] {
    return pool_.FindAdapter("mist", nullptr, {}, /*may_wait=*/true);
  });
  EXPECT_EQ(found.wait_for(std::chrono::milliseconds(200)),
            std::future_status::timeout);
  now_s_ = 6;
  EXPECT_THAT(found.get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("mist")));
  // Also while workers come and go.
  now_s_ = 100;
  Peer late;
  pool_.Connect(Offering("late", {{"other", "1"}}), late.connection);
  EXPECT_THAT(pool_.FindAdapter("mist", nullptr, {}, /*may_wait=*/true),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("mist")));
}

TEST_F(FleetTest, AnAdapterComesWhenNobodyOfferedItBefore) {
  Peer one;
  Peer two;
  one.id = pool_.Connect(Named("one"), one.connection);
  EXPECT_EQ(pool_.num_arrivals(), 1);
  two.id = pool_.Connect(Offering("two", {kCounting, mist_}), two.connection);
  EXPECT_EQ(pool_.num_arrivals(), 2);
  pool_.Disconnect(one.id);
  one.id = pool_.Connect(Named("one"), one.connection);
  EXPECT_EQ(pool_.num_arrivals(), 2);
  pool_.Disconnect(one.id);
  pool_.Disconnect(two.id);
  pool_.Connect(Named("one"), one.connection);
  EXPECT_EQ(pool_.num_arrivals(), 3);
}

TEST_F(FleetTest, AFleetAtRestIsNotWaitedFor) {
  Peer worker;
  pool_.Connect(Named("worker"), worker.connection);
  auto ids = AllAside();
  EXPECT_TRUE(Waits(ids));
  now_s_ = 6;
  EXPECT_THAT(ids.get(), ElementsAre(kCounting));
  EXPECT_THAT(IdsOf(*pool_.AllAdapters(nullptr)), ElementsAre(kCounting));
}

TEST_F(FleetTest, ALostWorkerIsWaitedForAWhile) {
  Peer stays;
  Peer leaves;
  pool_.Connect(Named("stays"), stays.connection);
  leaves.id = pool_.Connect(Offering("leaves", {mist_}), leaves.connection);
  now_s_ = 100;
  pool_.Disconnect(leaves.id);
  auto ids = AllAside();
  EXPECT_TRUE(Waits(ids));
  pool_.Connect(Offering("leaves", {mist_}), leaves.connection);
  EXPECT_THAT(ids.get(), ElementsAre(kCounting, mist_));
}

TEST_F(FleetTest, WorkersThatComeAndGoDelayAPlanOnce) {
  Peer worker;
  pool_.Connect(Named("worker"), worker.connection);
  auto ids = AllAside();
  EXPECT_TRUE(Waits(ids));
  for (int i = 1; i <= 6; ++i) {
    now_s_ = i;
    Peer other;
    other.id = pool_.Connect(Named("other"), other.connection);
    pool_.Disconnect(other.id);
  }
  EXPECT_THAT(ids.get(), ElementsAre(kCounting));
}

TEST_F(FleetTest, WorkersInQuarantineAreNotWaitedFor) {
  Peer bad;
  Peer honest;
  bad.id = pool_.Connect(Offering("bad", {mist_, kCounting}), bad.connection);
  honest.id = pool_.Connect(Named("honest"), honest.connection);
  MakeQuarantined(bad, mist_);
  EXPECT_THAT(IdsOf(*pool_.AllAdapters(nullptr)), ElementsAre(kCounting));
}

// The time of the test does not pass, so the run would wait without end.
TEST_F(VersionsTest, AVersionInQuarantineIsNotWaitedForIfThereIsAnother) {
  Peer older;
  older.id =
      pool_.Connect(Offering("older", {{"counting", "0"}}), older.connection);
  Peer newer;
  newer.id = pool_.Connect(Named("newer"), newer.connection);
  MakeQuarantined(older, {"counting", "0"});
  EXPECT_THAT(pool_.Run({"counting", "0"}, context_, Queries(1, 9)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("older")));
}

class SilentVersionsTest : public VersionsTest {
 protected:
  // A batch of one query.
  struct Asking {
    std::future<absl::StatusOr<WorkerPool::BatchResult>> result;
    std::shared_ptr<std::atomic<int>> num_polls;

    // Returns whether the pool still waits after it has looked at the clock.
    bool IsWaiting() const {
      const int seen = *num_polls;
      while (*num_polls < seen + 2) {
        if (result.wait_for(std::chrono::seconds(0)) ==
            std::future_status::ready) {
          return false;
        }
        std::this_thread::yield();
      }
      return true;
    }
  };

  Asking Ask(const AdapterId& adapter) {
    const auto num_polls = std::make_shared<std::atomic<int>>(0);
    return {std::async(std::launch::async,
                       [this, adapter, num_polls, number = ++num_asked_] {
                         return pool_.Run(adapter, context_, Queries(1, number),
                                          {.should_stop = [&] {
                                            ++*num_polls;
                                            return false;
                                          }});
                       }),
            num_polls};
  }
  void PassTo(double now_s) {
    now_s_ = now_s;
    for (const WorkerId id : {older_.id, newer_.id}) pool_.Heard(id);
    pool_.Tick();
  }
  void SetUp() override {
    older_.id = pool_.Connect(Offering("older", {kOld}), older_.connection);
    newer_.id = pool_.Connect(Named("newer"), newer_.connection);
  }
  // Asks `adapter` and lets the worker, which has been leased one query fewer
  // than `num_leases`, answer.
  void AskAndAnswer(const AdapterId& adapter, Peer& peer, size_t num_leases) {
    Asking asking = Ask(adapter);
    const TaskId task = peer.connection.AwaitLeases(num_leases).back();
    AnswerWith(peer.id, task, 1);
    EXPECT_TRUE(asking.result.get().ok());
  }

  static inline const AdapterId kOld{"counting", "0"};
  Peer older_;
  Peer newer_;
  int num_asked_ = 0;
};

TEST_F(SilentVersionsTest, AnIdleWorkerOfAnotherVersionTakesOver) {
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id, kOld);
  Asking asking = Ask(kOld);
  older_.connection.AwaitLeases(1);
  PassTo(59);
  EXPECT_TRUE(asking.IsWaiting());
  PassTo(61);
  EXPECT_THAT(asking.result.get(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("in version \"0\" answers")));
  const Digest digest = pool_.OfferedAdapters();
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id, kCounting);
  // It is chosen again once it answers.
  AskAndAnswer(kOld, older_, 2);
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id, kOld);
  EXPECT_NE(pool_.OfferedAdapters(), digest);
}

TEST_F(SilentVersionsTest, AVersionThatWasSilentIsWaitedForTwiceAsLong) {
  Asking asking = Ask(kOld);
  older_.connection.AwaitLeases(1);
  PassTo(61);
  EXPECT_FALSE(asking.result.get().ok());
  asking = Ask(kCounting);
  newer_.connection.AwaitLeases(1);
  PassTo(61 + 61);
  EXPECT_FALSE(asking.result.get().ok());
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id, kOld);
  asking = Ask(kOld);
  older_.connection.AwaitLeases(2);
  PassTo(122 + 119);
  EXPECT_TRUE(asking.IsWaiting());
  PassTo(122 + 121);
  EXPECT_FALSE(asking.result.get().ok());
}

// 16 times the longest that its answers took: from 60 s to 300 s.
class PatienceTest
    : public SilentVersionsTest,
      public ::testing::WithParamInterface<std::pair<double, double>> {};

TEST_P(PatienceTest, AVersionWhoseAnswersTakeLongIsWaitedForLonger) {
  const auto [took_s, waits_s] = GetParam();
  Asking asking = Ask(kOld);
  const TaskId task = older_.connection.AwaitLeases(1)[0];
  PassTo(took_s);
  AnswerWith(older_.id, task, 1);
  EXPECT_TRUE(asking.result.get().ok());
  asking = Ask(kOld);
  older_.connection.AwaitLeases(2);
  PassTo(took_s + waits_s - 1);
  EXPECT_TRUE(asking.IsWaiting());
  PassTo(took_s + waits_s + 1);
  EXPECT_FALSE(asking.result.get().ok());
  EXPECT_EQ(pool_.FindAdapter("counting", nullptr)->id, kCounting);
}

INSTANTIATE_TEST_SUITE_P(Times, PatienceTest,
                         ::testing::Values(std::pair(1.0, 60.0),
                                           std::pair(10.0, 160.0),
                                           std::pair(30.0, 300.0)));

TEST_F(SilentVersionsTest, ABusyWorkerDoesNotTakeOver) {
  Asking other = Ask(kCounting);
  const TaskId held = newer_.connection.AwaitLeases(1)[0];
  Asking asking = Ask(kOld);
  older_.connection.AwaitLeases(1);
  PassTo(61);
  EXPECT_TRUE(asking.IsWaiting());
  AnswerWith(newer_.id, held, 1);
  EXPECT_TRUE(other.result.get().ok());
  EXPECT_THAT(asking.result.get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("answers")));
}

}  // namespace
}  // namespace tangram
