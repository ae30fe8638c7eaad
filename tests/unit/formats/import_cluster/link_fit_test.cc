#include "formats/import_cluster/link_fit.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

NcclRun FourRanks(std::vector<CollectivePoint> points) {
  return {.op = CollectiveOp::kAllReduce,
          .num_ranks = 4,
          .hosts = {"n1"},
          .points = std::move(points)};
}

TEST(FitLinkTest, FindsTheLineThatTimesLieOn) {
  // 20 us + bytes / 40 GB/s. A byte crosses a link 2 · 3/4 times, so the bus
  // gets 60 GB/s. Two sweeps over a tree of depth 2 are 4 hops of 5 us.
  ASSERT_OK_AND_ASSIGN(const FittedLink link,
                       FitLink(FourRanks({{1e6, 20e-6 + 25e-6},
                                          {2e6, 20e-6 + 50e-6},
                                          {8e6, 20e-6 + 200e-6}})));
  EXPECT_NEAR(link.bandwidth_bytes_per_s, 60e9, 1);
  ASSERT_TRUE(link.latency_s.has_value());
  EXPECT_NEAR(*link.latency_s, 5e-6, 1e-12);
  EXPECT_EQ(link.what, "all_reduce over 4 GPUs, 3 sizes");
}

// An error of 1 % of a large time equals several latencies.
TEST(FitLinkTest, WeighsRelativeErrors) {
  ASSERT_OK_AND_ASSIGN(const FittedLink link,
                       FitLink(FourRanks({{1e3, 20.025e-6},
                                          {1e4, 20.25e-6},
                                          {1e8, 1.01 * 2.52e-3},
                                          {1e9, 25.02e-3}})));
  ASSERT_TRUE(link.latency_s.has_value());
  EXPECT_NEAR(*link.latency_s, 5e-6, 0.1e-6);
}

TEST(FitLinkTest, TakesTheBestBandwidthOfTooFewSizes) {
  // 8 MB · 1.5 / 200 us.
  ASSERT_OK_AND_ASSIGN(const FittedLink link,
                       FitLink(FourRanks({{1e6, 1e-3}, {8e6, 200e-6}})));
  EXPECT_NEAR(link.bandwidth_bytes_per_s, 60e9, 1);
  EXPECT_FALSE(link.latency_s.has_value());
}

TEST(FitLinkTest, RefusesWhatSaysNothingOfOneLink) {
  EXPECT_THAT(
      FitLink(FourRanks({})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no times")));
  NcclRun ring = FourRanks({{1e6, 1e-3}});
  ring.op = CollectiveOp::kPointToPoint;
  EXPECT_THAT(FitLink(ring), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("4 ranks send in a ring")));
  ring.op = CollectiveOp::kAllToAll;
  ring.hosts = {"n1", "n2"};
  EXPECT_THAT(FitLink(ring), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("all-to-all between nodes")));
}

}  // namespace
}  // namespace tangram
