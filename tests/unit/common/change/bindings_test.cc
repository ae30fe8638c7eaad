#include "common/change/bindings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::SizeIs;

// A plan that takes 60 % of its time for the arithmetic of group b, and 20 %
// for the link from a to b.
TEST(BindingsOfTest, FindsWhatBindsMostFirst) {
  const Cluster cluster =
      testing::TestCluster({{.name = "a", .device = testing::TestDevice("A")},
                            {.name = "b", .device = testing::TestDevice("B")}});
  const auto time_of = [&](const Cluster& changed) -> absl::StatusOr<double> {
    const double compute = cluster.nodes[1].device.peak_flops.fp16 /
                           changed.nodes[1].device.peak_flops.fp16;
    const double link = cluster.links[0][1].bandwidth_bytes_per_s /
                        changed.links[0][1].bandwidth_bytes_per_s;
    return 0.2 + 0.6 * compute + 0.2 * link;
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<Binding> bindings,
                       BindingsOf(cluster, 1, time_of));
  ASSERT_THAT(bindings, SizeIs(2));
  EXPECT_EQ(bindings[0].kind, Binding::Kind::kCompute);
  EXPECT_EQ(bindings[0].from, "b");
  EXPECT_DOUBLE_EQ(bindings[0].iteration_time_s, 0.7);
  EXPECT_EQ(bindings[1].kind, Binding::Kind::kLink);
  EXPECT_EQ(bindings[1].to, "b");
  EXPECT_DOUBLE_EQ(bindings[1].iteration_time_s, 0.9);
}

}  // namespace
}  // namespace tangram
