#include <future>
#include <set>
#include <string>
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
using testing::RecordingWorker;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::WorkerPoolTest;

class VersionsTest : public WorkerPoolTest {
 protected:
  // Another worker, and its connection.
  struct Peer {
    RecordingWorker connection;
    WorkerId id = 0;
  };

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

}  // namespace
}  // namespace tangram
