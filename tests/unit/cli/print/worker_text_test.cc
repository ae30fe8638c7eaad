#include "cli/print/worker_text.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(WorkerStateTextTest, QuarantineCountsMoreThanDraining) {
  v1::WorkerStatus worker;
  EXPECT_EQ(WorkerStateText(worker), "ready");
  worker.set_draining(true);
  EXPECT_EQ(WorkerStateText(worker), "draining");
  worker.set_quarantined(true);
  EXPECT_EQ(WorkerStateText(worker), "quarantined");
  worker.set_away(true);
  EXPECT_EQ(WorkerStateText(worker), "away");
}

}  // namespace
}  // namespace tangram
