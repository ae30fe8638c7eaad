#include "cli/print/progress_line.h"

#include <sstream>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(ProgressTextTest, ExtrapolatesTheTimeLeft) {
  // 10 of 40 pairs took 2 s, so the other 30 take 2 x 30 / 10 = 6 s.
  EXPECT_EQ(ProgressText({.phase = "slice_plans",
                          .pairs_done = 10,
                          .pairs_total = 40,
                          .best_iteration_time_s = 12.3,
                          .num_workers = 3,
                          .in_phase_s = 2}),
            "slice plans 10/40, 3 workers, best 12.3 s, 6.00 s left");
}

TEST(ProgressTextTest, LeavesOutUnknownValues) {
  EXPECT_EQ(ProgressText({.phase = "islands"}), "islands");
  EXPECT_EQ(ProgressText({.phase = "slice_plans", .pairs_total = 40}),
            "slice plans 0/40");
}

TEST(ProgressLineTest, WritesNothingWhenDisabled) {
  std::ostringstream out;
  {
    ProgressLine line(out, /*enabled=*/false);
    line.Show({.phase = "islands"});
  }
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressLineTest, ClearsWhatItWrote) {
  std::ostringstream out;
  {
    ProgressLine line(out, /*enabled=*/true);
    line.Show({.phase = "islands"});
  }
  EXPECT_EQ(out.str(), "\r\x1b[Kislands\r\x1b[K");
}

}  // namespace
}  // namespace tangram
