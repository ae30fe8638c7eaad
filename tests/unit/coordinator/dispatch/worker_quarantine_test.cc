#include "coordinator/dispatch/worker_quarantine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

const WorkerIdentity kWorker{"w1", "1.0"};
const WorkerIdentity kOther{"w2", "1.0"};

WorkerQuarantine AfterThreeIn100s() {
  return WorkerQuarantine({.max_rejections = 3, .window_s = 100});
}

TEST(WorkerQuarantineTest, HoldsAWorkerAfterSoManyInTheWindow) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  EXPECT_FALSE(quarantine.NoteRejection(kWorker, "a", 0));
  EXPECT_FALSE(quarantine.NoteRejection(kWorker, "b", 50));
  EXPECT_FALSE(quarantine.NoteRejection(kOther, "b", 50));
  EXPECT_FALSE(quarantine.Holds(kWorker));
  EXPECT_TRUE(quarantine.NoteRejection(kWorker, "c", 100));
  EXPECT_TRUE(quarantine.Holds(kWorker));
  EXPECT_FALSE(quarantine.Holds(kOther));
  EXPECT_FALSE(quarantine.NoteRejection(kWorker, "d", 101));  // Already.
  EXPECT_EQ(quarantine.num_held(), 1);
  EXPECT_EQ(quarantine.Find(kWorker)->rejections, 4);
  EXPECT_EQ(quarantine.Find(kWorker)->last_fault, "d");
}

TEST(WorkerQuarantineTest, OldFaultsAreForgiven) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  for (const double now_s : {0, 60, 120, 180, 240}) {
    EXPECT_FALSE(quarantine.NoteRejection(kWorker, "x", now_s));
  }
}

TEST(WorkerQuarantineTest, AnotherVersionIsAnotherWorker) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  for (int i = 0; i < 3; ++i) quarantine.NoteRejection(kWorker, "x", i);
  EXPECT_FALSE(quarantine.Holds({"w1", "1.1"}));
}

TEST(WorkerQuarantineTest, ReleaseForgetsTheFaults) {
  WorkerQuarantine quarantine = AfterThreeIn100s();
  for (int i = 0; i < 3; ++i) quarantine.NoteRejection(kWorker, "x", i);
  EXPECT_EQ(quarantine.Release("w2"), 0);
  EXPECT_EQ(quarantine.Release("w1"), 1);
  EXPECT_EQ(quarantine.Find(kWorker), nullptr);
  EXPECT_EQ(quarantine.num_held(), 0);
  EXPECT_TRUE(quarantine.Held().empty());
  EXPECT_FALSE(quarantine.NoteRejection(kWorker, "x", 4));
}

TEST(WorkerQuarantineTest, ZeroHoldsNobody) {
  WorkerQuarantine quarantine({.max_rejections = 0});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(quarantine.NoteRejection(kWorker, "x", i));
  }
}

}  // namespace
}  // namespace tangram
