// Verdicts that one worker gives.
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/worker_pool_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::WorkerPoolTest;

const absl::Status kMalformed = absl::InvalidArgumentError("slice.runs: empty");
const absl::Status kUnknownModel =
    absl::UnimplementedError("no mixtures of experts");

class VerdictsTest : public WorkerPoolTest {
 protected:
  using WorkerPoolTest::WorkerPoolTest;

  void Judge(const Peer& peer, TaskId task, absl::Status verdict) {
    pool_.OnAnswers(peer.id, {{task, std::move(verdict)}});
  }
};

// A pool to which other workers may be about to join.
class NewcomersTest : public VerdictsTest {
 protected:
  NewcomersTest()
      : VerdictsTest({.worker_wait_s = 1000, .newcomers_wait_s = 6}) {}

  bool Waits(const std::future<absl::StatusOr<WorkerPool::BatchResult>>& run) {
    pool_.Tick();
    return run.wait_for(std::chrono::milliseconds(100)) ==
           std::future_status::timeout;
  }
};

TEST_F(NewcomersTest, WhoeverJoinsFirstEndsNoQueryBeforeOthersCanJoin) {
  for (const absl::Status& error :
       {absl::InternalError("broken"), kUnknownModel, kMalformed}) {
    Peer early;
    Peer late;
    now_s_ = now_s_ + 100;
    Connect(absl::StrCat("early ", now_s_.load()), early);
    auto run = RunAside(Queries(1, static_cast<int>(now_s_)));
    Judge(early, early.connection.AwaitLeases(1)[0], error);
    EXPECT_TRUE(Waits(run));
    now_s_ = now_s_ + 5;
    EXPECT_TRUE(Waits(run));
    Connect(absl::StrCat("late ", now_s_.load()), late);
    AnswerWith(late.id, late.connection.AwaitLeases(1)[0], 7);
    EXPECT_THAT(run.get(), IsOk());
    pool_.Disconnect(early.id);
    pool_.Disconnect(late.id);
  }
}

TEST_F(NewcomersTest, NoStormOfNewcomersHoldsUpAQueryForLonger) {
  Peer sole;
  Connect("sole", sole);
  auto run = RunAside(Queries(1));
  Judge(sole, sole.connection.AwaitLeases(1)[0], kMalformed);
  while (now_s_ < 6) {
    EXPECT_TRUE(Waits(run));
    now_s_ = now_s_ + 1.5;
    Peer again;
    Connect("sole", again);
    pool_.Disconnect(again.id);
  }
  pool_.Tick();
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("slice.runs: empty")));
}

TEST_F(NewcomersTest, AFleetAtRestFailsAtOnceAsDoesAProvenWorker) {
  Peer sole;
  Connect("sole", sole);
  now_s_ = 7;
  auto first = RunAside(Queries(1));
  Judge(sole, sole.connection.AwaitLeases(1)[0], kMalformed);
  EXPECT_FALSE(first.get().ok());
  EXPECT_TRUE(failed_unproven_);
  pool_.Disconnect(sole.id);
  Peer proven;
  Connect("proven", proven);
  auto answered = RunAside(Queries(1, 1));
  AnswerWith(proven.id, proven.connection.AwaitLeases(1)[0], 1);
  EXPECT_THAT(answered.get(), IsOk());
  auto second = RunAside(Queries(1, 2));
  Judge(proven, proven.connection.AwaitLeases(2)[1], kMalformed);
  EXPECT_FALSE(second.get().ok());
  EXPECT_FALSE(failed_unproven_);
}

TEST_F(VerdictsTest, TellsWhetherWorkersThatEndAQueryByHangingUpAreProven) {
  const auto all_hang_up = [this](int first) {
    auto run = RunAside(Queries(1, first));
    for (const char* name : {"w1", "w2", "w3"}) {
      Peer peer;
      Connect(name, peer);
      peer.connection.AwaitLeases(1);
      now_s_ = now_s_ + 100;
      pool_.Disconnect(peer.id);
    }
    EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kInternal,
                                    HasSubstr("given up after")));
  };
  all_hang_up(0);
  EXPECT_TRUE(failed_unproven_);

  for (const char* name : {"w1", "w2", "w3"}) {
    Peer peer;
    Connect(name, peer);
    auto run = RunAside(Queries(1, 10 + name[1]));
    AnswerWith(peer.id, peer.connection.AwaitLeases(1)[0], 1);
    EXPECT_THAT(run.get(), IsOk());
    pool_.Disconnect(peer.id);
  }
  all_hang_up(100);
  EXPECT_FALSE(failed_unproven_);
}

TEST_F(VerdictsTest, AQueryThatTookProvenWorkersDownIsNoFaultOfNewOnes) {
  for (const char* name : {"w1", "w2"}) {
    Peer peer;
    Connect(name, peer);
    auto run = RunAside(Queries(1, 10 + name[1]));
    AnswerWith(peer.id, peer.connection.AwaitLeases(1)[0], 1);
    EXPECT_THAT(run.get(), IsOk());
    pool_.Disconnect(peer.id);
  }
  auto run = RunAside(Queries(1, 100));
  for (const char* name : {"w1", "w2"}) {
    Peer peer;
    Connect(name, peer);
    peer.connection.AwaitLeases(1);
    now_s_ = now_s_ + 100;
    pool_.Disconnect(peer.id);
  }
  Peer newcomer;
  Connect("newcomer", newcomer);
  now_s_ = now_s_ + 100;
  Judge(newcomer, newcomer.connection.AwaitLeases(1)[0], kMalformed);
  EXPECT_FALSE(run.get().ok());
  EXPECT_FALSE(failed_unproven_);
}

TEST_F(VerdictsTest,
       PlansWithoutWhatASingleSourceDoesNotKnowAreNotKeptForMore) {
  Peer sole;
  Connect("w1", sole);
  const Digest before = pool_.OfferedAdapters();
  auto unknown = RunAside(Queries(1));
  Judge(sole, sole.connection.AwaitLeases(1)[0], kUnknownModel);
  EXPECT_FALSE(unknown.get().ok());
  EXPECT_EQ(pool_.OfferedAdapters(), before);
  // Its own connections do not contradict it.
  Peer again;
  Connect("w1", again);
  EXPECT_EQ(pool_.OfferedAdapters(), before);
  Peer other;
  Connect("w2", other);
  const Digest after = pool_.OfferedAdapters();
  EXPECT_NE(after, before);
  Peer third;
  Connect("w3", third);
  EXPECT_EQ(pool_.OfferedAdapters(), after);
}

TEST_F(VerdictsTest, TheVerdictOfTheOnlyWorkerStandsAndNamesIt) {
  Peer sole;
  Connect("w1", sole);
  auto malformed = RunAside(Queries(1));
  Judge(sole, sole.connection.AwaitLeases(1)[0], kMalformed);
  EXPECT_THAT(malformed.get(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "worker w1 (tangram 1.2), adapter counting 1: "
                       "slice.runs: empty"));
  // Plans quote this one, so it must not depend on the worker.
  auto unknown = RunAside(Queries(1, 1));
  Judge(sole, sole.connection.AwaitLeases(2)[1], kUnknownModel);
  EXPECT_THAT(unknown.get(), StatusIs(absl::StatusCode::kUnimplemented,
                                      "no mixtures of experts"));
  EXPECT_THAT(observer_.rejections, IsEmpty());
  EXPECT_EQ(observer_.events[QueryEvent::kFailed], 2);
}

TEST_F(VerdictsTest, AVerdictThatAllWorkersGiveIsFinalAndNamesThem) {
  for (const absl::Status& verdict : {kMalformed, kUnknownModel}) {
    Peer first;
    Connect("w1", first);
    auto run = RunAside(Queries(1));
    const TaskId task = first.connection.AwaitLeases(1)[0];
    Peer second;
    Connect("w2", second);
    Judge(first, task, verdict);
    EXPECT_THAT(second.connection.AwaitLeases(1), ElementsAre(task));
    Judge(second, task, verdict);
    EXPECT_THAT(
        run.get(),
        StatusIs(verdict.code(),
                 absl::IsUnimplemented(verdict)
                     // Plans quote this one.
                     ? std::string(verdict.message())
                     : "worker w1 (tangram 1.2), worker w2 (tangram 1.2) "
                       "agree, adapter counting 1: slice.runs: empty"));
    pool_.Disconnect(first.id);
    pool_.Disconnect(second.id);
  }
  EXPECT_THAT(observer_.rejections, IsEmpty());
}

TEST_F(VerdictsTest, AnAnswerContradictsAVerdictAndItsWorkerIsBlamed) {
  Peer liar;
  Connect("liar", liar);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(observer_.quarantines, IsEmpty());
    auto run = RunAside(Queries(1, i));
    const TaskId task = liar.connection.AwaitLeases(i + 1)[i];
    Peer honest;
    Connect("honest", honest);
    Judge(liar, task, i == 0 ? kMalformed : kUnknownModel);
    AnswerWith(honest.id, honest.connection.AwaitLeases(1)[0], 7);
    EXPECT_THAT(StepsOf(*run.get()), ElementsAre(7));
    pool_.Disconnect(honest.id);
  }
  ASSERT_THAT(observer_.rejections, SizeIs(3));
  EXPECT_EQ(observer_.rejections[0].reason, RejectionReason::kError);
  EXPECT_EQ(observer_.rejections[0].fault,
            "worker liar (tangram 1.2), adapter counting 1: slice.runs: empty");
  EXPECT_THAT(observer_.quarantines, ElementsAre("liar held"));
}

// A good worker is busy, and all others agree on a verdict.
TEST_F(VerdictsTest, ARightAnswerBeatsAnyNumberOfVerdicts) {
  Peer honest;
  Connect("honest", honest);
  std::vector<Peer> liars(5);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(observer_.quarantines, IsEmpty());
    auto earlier = RunAside(Queries(1, 100 + round));
    const TaskId held = honest.connection.AwaitLeases(2 * round + 1).back();
    if (round == 0) {
      for (int i = 0; i < 5; ++i) Connect(absl::StrCat("liar", i), liars[i]);
    }
    auto run = RunAside(Queries(1, round));
    for (Peer& liar : liars) {
      const TaskId task = liar.connection.AwaitLeases(round + 1).back();
      Judge(liar, task, round == 1 ? kUnknownModel : kMalformed);
    }
    EXPECT_EQ(pool_.Counts().pending, 1);
    AnswerWith(honest.id, held, 0);
    EXPECT_THAT(earlier.get(), IsOk());
    AnswerWith(honest.id, honest.connection.AwaitLeases(2 * round + 2).back(),
               round);
    EXPECT_THAT(StepsOf(*run.get()), ElementsAre(round));
  }
  EXPECT_THAT(observer_.quarantines, SizeIs(5));
}

// Liars join and leave while the honest workers stay.
TEST_F(VerdictsTest, TheTextOfAnErrorIsShortAndThatOfProvenWorkers) {
  Peer proven;
  Connect("proven", proven);
  auto earlier = RunAside(Queries(1, 100));
  AnswerWith(proven.id, proven.connection.AwaitLeases(1)[0], 0);
  EXPECT_THAT(earlier.get(), IsOk());
  std::vector<Peer> liars(4);
  auto run = RunAside(Queries(1));
  const TaskId task = proven.connection.AwaitLeases(2)[1];
  for (int i = 0; i < 4; ++i) Connect(absl::StrCat("liar", i), liars[i]);
  Judge(proven, task, kMalformed);
  for (Peer& liar : liars) {
    liar.connection.AwaitLeases(1);
    Judge(liar, task,
          absl::InvalidArgumentError("\x1b[2J" + std::string(100'000, 'x')));
  }
  EXPECT_THAT(run.get(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "worker liar0 (tangram 1.2), worker liar1 (tangram "
                       "1.2), worker liar2 (tangram 1.2) and 2 others agree, "
                       "adapter counting 1: slice.runs: empty"));
}

TEST_F(VerdictsTest, ASourceThatIsKnownToBeSilentIsNotWaitedFor) {
  Peer honest;
  Peer silent;
  Connect("silent", silent);
  auto first = RunAside(Queries(1, 10));
  const TaskId task = silent.connection.AwaitLeases(1)[0];
  now_s_ = 31;
  Connect("honest", honest);
  pool_.Heard(silent.id);
  AnswerWith(honest.id, honest.connection.AwaitLeases(1)[0], 1);
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(silent.connection.cancelled(), ElementsAre(task));
  auto run = RunAside(Queries(1));
  Judge(honest, honest.connection.AwaitLeases(2)[1], kMalformed);
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("worker honest ")));
}

TEST_F(VerdictsTest, ConnectionsOfOneWorkerAreOneOpinion) {
  Peer first;
  Peer second;
  Connect("w1", first);
  auto run = RunAside(Queries(1));
  const TaskId task = first.connection.AwaitLeases(1)[0];
  Connect("w1", second);
  Judge(first, task, kMalformed);
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("worker w1 ")));
  EXPECT_THAT(second.connection.AwaitLeases(0), IsEmpty());
}

TEST_F(VerdictsTest, OfTwoVerdictsTheMilderCountsAndAThirdWorkerDecides) {
  for (const bool has_third : {false, true}) {
    Peer first;
    Peer second;
    Peer third;
    Connect("w1", first);
    auto run = RunAside(Queries(1));
    const TaskId task = first.connection.AwaitLeases(1)[0];
    Connect("w2", second);
    if (has_third) Connect("w3", third);
    Judge(first, task, kMalformed);
    second.connection.AwaitLeases(1);
    Judge(second, task, kUnknownModel);
    if (has_third) {
      EXPECT_THAT(third.connection.AwaitLeases(1), ElementsAre(task));
      Judge(third, task, kMalformed);
    }
    EXPECT_THAT(
        run.get(),
        has_third
            ? StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("worker w1 (tangram 1.2), worker w3 (tangram "
                                 "1.2) agree, adapter counting 1: slice"))
            : StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("no mixtures of experts")));
    pool_.Disconnect(first.id);
    pool_.Disconnect(second.id);
    if (has_third) pool_.Disconnect(third.id);
  }
  EXPECT_THAT(observer_.quarantines, IsEmpty());
}

TEST_F(VerdictsTest, ASecondWorkerThatStaysSilentIsNotWaitedForWithoutEnd) {
  Peer first;
  Connect("w1", first);
  auto run = RunAside(Queries(1));
  const TaskId task = first.connection.AwaitLeases(1)[0];
  Peer silent;
  Connect("silent", silent);
  Judge(first, task, kMalformed);
  EXPECT_THAT(silent.connection.AwaitLeases(1), ElementsAre(task));
  now_s_ = 61;  // Longer than twice WorkQueueOptions::hedge_after_s.
  for (const WorkerId id : {first.id, silent.id}) pool_.Heard(id);
  pool_.Tick();
  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("worker w1 ")));
  EXPECT_THAT(silent.connection.cancelled(), ElementsAre(task));
  EXPECT_EQ(pool_.Counts().leased, 0);
}

TEST_F(VerdictsTest, ABusyWorkerIsWaitedForUntilItIsSilent) {
  for (const absl::Status& verdict : {kMalformed, kUnknownModel}) {
    const double began_s = now_s_;
    Peer busy;
    Connect("busy", busy);
    const int first = static_cast<int>(began_s);
    auto earlier = RunAside(Queries(1, first));
    AnswerWith(busy.id, busy.connection.AwaitLeases(1)[0], 1);
    EXPECT_THAT(earlier.get(), IsOk());
    auto long_search = RunAside(Queries(1, first + 1));
    const TaskId held = busy.connection.AwaitLeases(2)[1];
    Peer hostile;
    Connect("hostile", hostile);
    auto run = RunAside(Queries(1, first + 2));
    const TaskId task = hostile.connection.AwaitLeases(1)[0];
    Judge(hostile, task, verdict);
    now_s_ = began_s + 299;
    for (const WorkerId id : {hostile.id, busy.id}) pool_.Heard(id);
    pool_.Tick();
    EXPECT_EQ(pool_.Counts().pending, 1);
    now_s_ = began_s + 301;
    for (const WorkerId id : {hostile.id, busy.id}) pool_.Heard(id);
    pool_.Tick();
    // The request may be fine, so the error names the worker.
    EXPECT_THAT(run.get(),
                StatusIs(verdict.code(),
                         HasSubstr("worker hostile (tangram 1.2), adapter "
                                   "counting 1: ")));
    pool_.Disconnect(hostile.id);
    AnswerWith(busy.id, held, 2);
    EXPECT_THAT(long_search.get(), IsOk());
    pool_.Disconnect(busy.id);
  }
}

TEST_F(VerdictsTest, VerdictsOfAWorkerInQuarantineAreWithdrawn) {
  Peer busy;
  Connect("busy", busy);
  auto long_search = RunAside(Queries(1));
  const TaskId held = busy.connection.AwaitLeases(1)[0];
  Peer hostile;
  Connect("hostile", hostile);
  std::vector<std::future<absl::StatusOr<WorkerPool::BatchResult>>> runs;
  for (int i = 0; i < 4; ++i) {
    runs.push_back(RunAside(Queries(1, 1 + i)));
    const TaskId task = hostile.connection.AwaitLeases(i + 1)[i];
    if (i == 0) {
      Judge(hostile, task, kMalformed);
    } else {
      pool_.OnAnswers(hostile.id, {{task, Answer(PerformanceProfile())}});
    }
  }
  ASSERT_THAT(observer_.quarantines, ElementsAre("hostile held"));
  now_s_ = 3000;
  pool_.Heard(busy.id);
  pool_.Tick();
  AnswerWith(busy.id, held, 0);
  for (int i = 1; i <= 4; ++i) {
    AnswerWith(busy.id, busy.connection.AwaitLeases(i + 1)[i], i);
  }
  EXPECT_THAT(long_search.get(), IsOk());
  for (auto& run : runs) EXPECT_THAT(run.get(), IsOk());
}

// A right one shows that it was slow, not silent. A wrong one is as wrong as if
// it had come in time.
TEST_F(VerdictsTest, ALateAnswerCountsOnce) {
  for (const bool is_right : {true, false}) {
    const int number = is_right ? 0 : 10;
    Peer slow;
    Connect(absl::StrCat("slow", number), slow);
    auto run = RunAside(Queries(1, number));
    const TaskId task = slow.connection.AwaitLeases(1)[0];
    now_s_ = now_s_ + 31;
    pool_.Heard(slow.id);
    Peer quick;
    Connect("quick", quick);
    AnswerWith(quick.id, quick.connection.AwaitLeases(1)[0], number);
    EXPECT_THAT(run.get(), IsOk());
    pool_.Disconnect(quick.id);
    ASSERT_THAT(slow.connection.cancelled(), ElementsAre(task));
    for (int i = 0; i < 2; ++i) {
      if (is_right) {
        AnswerWith(slow.id, task, number);
      } else {
        pool_.OnAnswers(slow.id, {{task, Answer(PerformanceProfile())}});
      }
    }
    ASSERT_THAT(pool_.Workers(), SizeIs(1));
    EXPECT_EQ(pool_.Workers()[0].answered, is_right ? 1 : 0);
    EXPECT_EQ(pool_.Workers()[0].rejected, is_right ? 0 : 1);
    EXPECT_EQ(pool_.Workers()[0].last_fault,
              is_right ? ""
                       : "worker slow10 (tangram 1.2), adapter counting 1: "
                         "answer: profile; expected parallelize");
    pool_.Disconnect(slow.id);
  }
}

}  // namespace
}  // namespace tangram
