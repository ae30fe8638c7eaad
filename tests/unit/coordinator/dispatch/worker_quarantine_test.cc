#include "coordinator/dispatch/worker_quarantine.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::SizeIs;

const WorkerIdentity kWorker{"worker-1", "10.0.0.1"};
const WorkerIdentity kOther{"worker-2", "10.0.0.1"};

WorkerQuarantine AfterThreeIn100s() {
  return WorkerQuarantine({.max_rejections = 3, .window_s = 100});
}

WorkerQuarantine::Fault FaultOf(const WorkerIdentity& worker,
                                const std::string& text = "x") {
  return {.worker = worker, .name = "w1", .version = "1.0", .text = text};
}

void NoteThree(WorkerQuarantine& quarantine, const WorkerIdentity& worker) {
  for (int i = 0; i < 3; ++i) quarantine.NoteRejection(FaultOf(worker), i);
}

TEST(WorkerQuarantineTest, HoldsAWorkerAfterSoManyInTheWindow) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker, "a"), 0));
  EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker, "b"), 50));
  EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kOther, "b"), 50));
  EXPECT_FALSE(quarantine.Holds(kWorker));
  EXPECT_TRUE(quarantine.NoteRejection(FaultOf(kWorker, "c"), 100));
  EXPECT_TRUE(quarantine.Holds(kWorker));
  EXPECT_FALSE(quarantine.Holds(kOther));
  // It is there already.
  EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker, "d"), 101));
  EXPECT_EQ(quarantine.num_held(), 1);
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 4);
  EXPECT_EQ(quarantine.Find(kWorker)->last_fault, "d");
}

TEST(WorkerQuarantineTest, OldFaultsAreForgiven) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  for (const double now_s : {0, 60, 120, 180, 240}) {
    EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker), now_s));
  }
}

TEST(WorkerQuarantineTest, LossesThatAreNearCountOnce) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  // All noted when the answers of others come in, in any order.
  for (const double lost_s : {10, 12, 9, 34}) {
    EXPECT_FALSE(quarantine.NoteLoss(FaultOf(kWorker), lost_s, 40));
  }
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 1);
  EXPECT_FALSE(quarantine.NoteLoss(FaultOf(kWorker), 35, 40));
  EXPECT_FALSE(quarantine.NoteLoss(FaultOf(kOther), 35, 40));
  EXPECT_TRUE(quarantine.NoteLoss(FaultOf(kWorker), 60, 60));
  EXPECT_FALSE(quarantine.Holds(kOther));
}

TEST(WorkerQuarantineTest, AnAnswerClearsLossesButNotWrongAnswers) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  quarantine.NoteAnswer(kWorker);
  EXPECT_EQ(quarantine.Find(kWorker), nullptr);
  for (const double lost_s : {0, 30, 60}) {
    EXPECT_FALSE(quarantine.NoteLoss(FaultOf(kWorker), lost_s, lost_s));
    quarantine.NoteAnswer(kWorker);
  }
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 3);
  for (const double now_s : {70, 80}) {
    EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker), now_s));
    quarantine.NoteAnswer(kWorker);
  }
  EXPECT_TRUE(quarantine.NoteLoss(FaultOf(kWorker), 90, 90));
  quarantine.NoteAnswer(kWorker);
  EXPECT_TRUE(quarantine.Holds(kWorker));
}

TEST(WorkerQuarantineTest, AnotherNameOrVersionIsTheSameWorker) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  WorkerQuarantine::Fault fault = FaultOf(kWorker);
  quarantine.NoteRejection(fault, 0);
  fault.name = "w2";
  quarantine.NoteRejection(fault, 1);
  fault.version = "2.0";
  EXPECT_TRUE(quarantine.NoteRejection(fault, 2));
  EXPECT_EQ(quarantine.Find(kWorker)->name, "w2");
  EXPECT_EQ(quarantine.Find(kWorker)->version, "2.0");
}

TEST(WorkerQuarantineTest, ReleaseForgetsTheFaults) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  NoteThree(quarantine, kWorker);
  quarantine.NoteRejection(FaultOf(kOther), 3);
  EXPECT_FALSE(quarantine.Release(kOther));
  EXPECT_TRUE(quarantine.Release(kWorker));
  EXPECT_EQ(quarantine.Find(kWorker), nullptr);
  EXPECT_EQ(quarantine.num_held(), 0);
  EXPECT_TRUE(quarantine.Held().empty());
  EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker), 4));
}

// Otherwise a release of one worker would give another a fresh start.
TEST(WorkerQuarantineTest, ReleaseKeepsTheFaultsOfAWorkerThatIsNotHeld) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  quarantine.NoteRejection(FaultOf(kWorker), 0);
  EXPECT_FALSE(quarantine.Release(kWorker));
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 1);
}

TEST(WorkerQuarantineTest, ZeroHoldsNobody) {
  WorkerQuarantine quarantine({.max_rejections = 0});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(quarantine.NoteRejection(FaultOf(kWorker), i));
  }
}

TEST(WorkerQuarantineTest, AFaultThatBlamesNobodyIsShownAlone) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  for (int i = 0; i < 5; ++i) quarantine.NoteFault(FaultOf(kWorker, "a"), i);
  EXPECT_FALSE(quarantine.Holds(kWorker));
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 0);
  EXPECT_EQ(quarantine.Find(kWorker)->last_fault, "a");
  NoteThree(quarantine, kWorker);
  EXPECT_TRUE(quarantine.Holds(kWorker));
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 3);
}

WorkerIdentity Number(size_t number) { return {"", absl::StrCat(number)}; }

TEST(WorkerQuarantineTest, MemoryIsBounded) {
  WorkerQuarantine quarantine({.max_rejections = 1, .window_s = 100});
  constexpr size_t kMost = kMaxSources;
  for (size_t i = 0; i < kMost + 10; ++i) {
    quarantine.NoteRejection(FaultOf(Number(i)), static_cast<double>(i));
  }
  EXPECT_EQ(quarantine.num_held(), kMost);
  EXPECT_THAT(quarantine.Held(), SizeIs(kMost));
  EXPECT_FALSE(quarantine.Holds(Number(9)));  // The oldest were forgotten.
  EXPECT_TRUE(quarantine.Holds(Number(10)));
  EXPECT_TRUE(quarantine.Holds(Number(kMost + 9)));
}

TEST(WorkerQuarantineTest, WorkersInQuarantineAreForgottenLast) {
  WorkerQuarantine quarantine({.max_rejections = 2, .window_s = 100});
  quarantine.NoteRejection(FaultOf(kWorker), 0);
  quarantine.NoteRejection(FaultOf(kWorker), 1);
  for (size_t i = 0; i < kMaxSources + 10; ++i) {
    quarantine.NoteRejection(FaultOf(Number(i)), static_cast<double>(i + 2));
  }
  EXPECT_TRUE(quarantine.Holds(kWorker));
  EXPECT_EQ(quarantine.num_held(), 1);
}

TEST(WorkerQuarantineTest, WorkersThatAreNotBlamedAreForgottenFirst) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  quarantine.NoteRejection(FaultOf(kWorker), 0);
  for (size_t i = 0; i < kMaxSources + 10; ++i) {
    quarantine.NoteFault(FaultOf(Number(i)), static_cast<double>(i + 1));
  }
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 1);
  EXPECT_EQ(quarantine.Find(Number(10)), nullptr);
}

class UselessWorkersTest : public ::testing::Test {
 protected:
  bool Note(bool is_new, double now_s) {
    return quarantine_.NoteUseless(fault_, is_new, now_s);
  }

  const WorkerQuarantine::Fault fault_{
      .worker = {.host = "h"}, .name = "w", .version = "1", .text = "idle"};
  WorkerQuarantine quarantine_{{.max_rejections = 3, .first_hold_s = 10}};
};

TEST_F(UselessWorkersTest, ANewOneIsHeldAtOnceAndForLongerEachTime) {
  double now_s = 0;
  for (const double hold_s : {10, 20, 40, 80, 160, 320, 640, 640}) {
    EXPECT_TRUE(Note(/*is_new=*/true, now_s));
    EXPECT_EQ(quarantine_.Find(fault_.worker)->held_until_s, now_s + hold_s);
    EXPECT_EQ(quarantine_.num_held(), 1);
    quarantine_.EndHold(fault_.worker);
    EXPECT_EQ(quarantine_.num_held(), 0);
    now_s += 1000;
  }
}

TEST_F(UselessWorkersTest, OneThatHasAnsweredIsHeldAtTheThirdTimeInARow) {
  EXPECT_FALSE(Note(/*is_new=*/false, 0));
  EXPECT_FALSE(Note(/*is_new=*/false, 0.5));  // The same occasion.
  EXPECT_FALSE(Note(/*is_new=*/false, 2));
  quarantine_.NoteAnswer(fault_.worker);
  EXPECT_FALSE(Note(/*is_new=*/false, 4));
  EXPECT_FALSE(Note(/*is_new=*/false, 6));
  EXPECT_TRUE(Note(/*is_new=*/false, 8));
}

TEST_F(UselessWorkersTest, WrongAnswersMeanwhileEndTheEndOfIt) {
  EXPECT_TRUE(Note(/*is_new=*/true, 0));
  for (int i = 0; i < 3; ++i) quarantine_.NoteRejection(fault_, 1);
  EXPECT_FALSE(quarantine_.Find(fault_.worker)->is_held_for_a_while());
  quarantine_.EndHold(fault_.worker);
  EXPECT_TRUE(quarantine_.Holds(fault_.worker));
}

}  // namespace
}  // namespace tangram
