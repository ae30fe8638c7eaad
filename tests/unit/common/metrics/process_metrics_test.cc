#include "common/metrics/process_metrics.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(ProcessMetricsTest, FieldsAreThoseOfTheManual) {
  // The name may hold what ends it elsewhere. Then come state, parent, group,
  // session, terminal, its group, flags and four counts of faults; user and
  // system ticks; four more; threads, an interval, the start; bytes and pages.
  const std::string stat =
      "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 3 0 2000 8192 5 "
      "18446744073709551615 1 1";
  const auto figures = ParseProcessStat(stat, /*booted_s=*/1000,
                                        /*ticks_per_s=*/100,
                                        /*page_bytes=*/4096);
  ASSERT_TRUE(figures.has_value());
  EXPECT_DOUBLE_EQ(figures->cpu_s, 2);         // (150 + 50) / 100
  EXPECT_DOUBLE_EQ(figures->started_s, 1020);  // 1000 + 2000 / 100
  EXPECT_DOUBLE_EQ(figures->virtual_bytes, 8192);
  EXPECT_DOUBLE_EQ(figures->resident_bytes, 20480);  // 5 · 4096
}

TEST(ProcessMetricsTest, WhatIsNoStatIsNothing) {
  for (const std::string stat : {"", "7 (a", "7 (a) S 1 2", "7 (a) S x x x"}) {
    EXPECT_FALSE(ParseProcessStat(stat, 0, 100, 4096).has_value()) << stat;
  }
}

TEST(ProcessMetricsTest, ThisProcessHasFigures) {
  const auto before = ReadProcessFigures();
  ASSERT_TRUE(before.has_value());
  // 1e9 s: a day in 2001.
  EXPECT_GT(before->started_s, 1e9);
  EXPECT_GE(before->open_fds, 3);
  EXPECT_GE(before->max_fds, before->open_fds);
  const std::vector<char> large(64 << 20, 1);
  const auto after = ReadProcessFigures();
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(after->resident_bytes - before->resident_bytes, 60 << 20);
  EXPECT_EQ(after->started_s, before->started_s);
}

}  // namespace
}  // namespace tangram
