#include "tests/bench/challenger/instances/variations.h"

#include <map>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::bench {
namespace {

using ::testing::UnorderedElementsAreArray;

Instance TwoGroups() {
  Draw draw(1);
  Instance instance = DrawInstance(draw, {});
  instance.groups.resize(2);
  instance.batch = 6;
  return instance;
}

TEST(VariationsTest, EveryCheckHasSome) {
  std::set<std::string> checks;
  for (const Variation& variation : VariationsOf(TwoGroups())) {
    checks.insert(variation.check);
  }
  EXPECT_THAT(checks, UnorderedElementsAreArray(Checks()));
}

TEST(VariationsTest, OneSideIsTheInstance) {
  const Instance instance = TwoGroups();
  for (const Variation& variation : VariationsOf(instance)) {
    EXPECT_NE(variation.less == instance, variation.more == instance)
        << variation.what;
  }
}

TEST(VariationsTest, TheOtherSideHasMoreOrMayDoMore) {
  const Instance instance = TwoGroups();
  std::map<std::string, int> counts;
  for (const Variation& variation : VariationsOf(instance)) {
    ++counts[variation.check];
    const Instance& less = variation.less;
    const Instance& more = variation.more;
    if (variation.check == "node") {
      int added = 0;
      for (int g = 0; g < 2; ++g) {
        added += more.groups[g].num_nodes - less.groups[g].num_nodes;
      }
      EXPECT_EQ(added, 1);
    }
    if (variation.check == "island") {
      EXPECT_EQ(less.groups.size(), 1u);
    }
    if (variation.check == "memory") {
      EXPECT_GT(more.groups[0].memory_gb, less.groups[0].memory_gb);
    }
    if (variation.check == "compute") {
      EXPECT_GT(more.groups[0].fp16_tflops, less.groups[0].fp16_tflops);
    }
    if (variation.check == "links") {
      EXPECT_GT(more.between_gb_per_s, less.between_gb_per_s);
    }
    EXPECT_EQ(more.microbatch + more.tp + more.dp + more.max_stages, 0);
  }
  // 1, 2, 3 and 6 divide the batch.
  EXPECT_EQ(counts["microbatch"], 4);
  EXPECT_EQ(counts["node"], 2);
  EXPECT_EQ(counts["island"], 2);
}

}  // namespace
}  // namespace tangram::bench
