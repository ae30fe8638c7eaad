#include "tests/bench/challenger/instances/instance.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

Instance Drawn(uint64_t seed) {
  Draw draw(seed);
  return DrawInstance(draw, {"aceso", "uniform"});
}

TEST(DrawInstanceTest, EqualSeedsDrawEqualInstances) {
  EXPECT_EQ(Drawn(7), Drawn(7));
  EXPECT_FALSE(Drawn(7) == Drawn(8));
}

TEST(DrawInstanceTest, InstancesAreSmallAndOfAllKinds) {
  std::set<int> groups;
  std::set<int> gpus;
  std::set<bool> experts;
  std::set<std::string> parallelizers;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Instance instance = Drawn(seed);
    EXPECT_THAT(instance.num_layers, AllOf(Ge(4), Le(8)));
    groups.insert(static_cast<int>(instance.groups.size()));
    experts.insert(instance.num_experts > 0);
    parallelizers.insert(instance.parallelizers);
    for (const DrawnGroup& group : instance.groups) {
      gpus.insert(group.num_nodes * group.gpus_per_node);
    }
  }
  EXPECT_THAT(groups, ElementsAre(2, 3));
  EXPECT_THAT(experts, ElementsAre(false, true));
  EXPECT_THAT(parallelizers, ElementsAre("aceso", "uniform"));
  EXPECT_THAT(gpus, ElementsAre(1, 2, 3, 4, 6, 8));  // 5 and 7 are no products.
}

TEST(InstanceTest, ItsRequestIsThatOfItsFiles) {
  Instance instance = Drawn(3);
  instance.groups.resize(2);
  instance.groups[1].num_nodes = 3;
  instance.groups[1].gpus_per_node = 2;
  instance.groups[1].memory_gb = 6;
  instance.between_gb_per_s = 0.4;
  instance.num_layers = 5;
  instance.num_experts = 4;
  instance.batch = 21;
  instance.microbatch = 3;
  instance.tp = 2;
  ASSERT_OK_AND_ASSIGN(const PlanRequest request, RequestOf(instance));
  const Cluster& cluster = *request.cluster;
  EXPECT_THAT(cluster.groups, ElementsAre("g0", "g1"));
  EXPECT_EQ(cluster.nodes.back().num_gpus, 2);
  EXPECT_EQ(cluster.nodes.back().device.memory_bytes, 6e9);
  EXPECT_EQ(cluster.links[0][1].bandwidth_bytes_per_s, 0.4e9);
  EXPECT_EQ(request.model.num_layers(), 7);  // With embedding and head.
  EXPECT_EQ(request.model.layers[1].num_experts, 4);
  EXPECT_EQ(request.training.global_batch_size, 21);
  EXPECT_EQ(request.pipeline_microbatch_size, 3);
  EXPECT_THAT(request.constraints.tp_degrees,
              ElementsAre(Field(&IslandValue::value, 2)));
  EXPECT_THAT(ArgumentsOf(instance),
              AllOf(HasSubstr("--global-batch 21"), HasSubstr("--microbatch 3"),
                    HasSubstr("--tp 2")));
}

}  // namespace
}  // namespace tangram::bench
