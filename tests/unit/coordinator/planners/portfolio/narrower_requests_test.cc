#include "coordinator/planners/portfolio/narrower_requests.h"

#include <string>
#include <vector>

#include "coordinator/islands/build_islands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestDevice;

// Groups "a", "b", … of these numbers of nodes.
PlanRequest RequestOn(const std::vector<int>& num_nodes, int gpus_per_node,
                      int num_layers, int batch) {
  std::vector<testing::TestGroup> groups;
  for (const int nodes : num_nodes) {
    const std::string name(1, static_cast<char>('a' + groups.size()));
    groups.push_back({.name = name,
                      .num_nodes = nodes,
                      .gpus_per_node = gpus_per_node,
                      .device = TestDevice(name)});
    groups.back().device.peak_flops.fp16 *= static_cast<double>(groups.size());
  }
  return {.cluster = testing::TestCluster(groups),
          .model = testing::TestModel(num_layers),
          .training = testing::TestTraining(batch)};
}

std::vector<NarrowerRequest> NarrowerOf(const PlanRequest& request) {
  const auto islands = BuildIslands(*request.cluster, Precision::kFp16, {},
                                    /*left_out=*/{}, {});
  return NarrowerRequests(request, islands->islands);
}

std::vector<std::string> What(const PlanRequest& request) {
  std::vector<std::string> what;
  for (const NarrowerRequest& narrower : NarrowerOf(request)) {
    what.push_back(narrower.what);
  }
  return what;
}

TEST(NarrowerRequestsTest, LargeProblemsOfHandyIslandsHaveNone) {
  EXPECT_THAT(What(RequestOn({2, 4}, 4, 32, 128)), IsEmpty());
}

TEST(NarrowerRequestsTest, AwkwardIslandsLoseNodes) {
  // 3 · 4 GPUs and 128 have no factor 3 in common; 2 · 4 GPUs do well.
  const PlanRequest request = RequestOn({2, 3}, 4, 32, 128);
  const std::vector<NarrowerRequest> narrower = NarrowerOf(request);
  ASSERT_EQ(narrower.size(), 1u);
  EXPECT_EQ(narrower.front().what, "without b-2");
  EXPECT_THAT(narrower.front().request.constraints.exclude_nodes,
              ElementsAre("b-2"));
}

TEST(NarrowerRequestsTest, TheBatchDecidesWhatIsAwkward) {
  EXPECT_THAT(What(RequestOn({2, 3}, 4, 32, 96)), IsEmpty());
  EXPECT_THAT(What(RequestOn({7}, 4, 32, 96)), ElementsAre("without a-6"));
}

TEST(NarrowerRequestsTest, ConstraintsStay) {
  PlanRequest request = RequestOn({3}, 1, 4, 8);
  request.pipeline_microbatch_size = 4;
  request.constraints.tp_degrees = {{.value = 2}};
  request.constraints.exclude_nodes = {"b"};
  EXPECT_THAT(What(request), ElementsAre("without a-2"));
  for (const NarrowerRequest& narrower : NarrowerOf(request)) {
    EXPECT_EQ(narrower.request.pipeline_microbatch_size, 4);
    EXPECT_EQ(narrower.request.constraints.tp_degrees.size(), 1u);
    EXPECT_THAT(narrower.request.constraints.exclude_nodes, Contains("b"));
  }
}

}  // namespace
}  // namespace tangram
