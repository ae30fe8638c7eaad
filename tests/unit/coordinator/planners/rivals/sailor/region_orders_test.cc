#include "coordinator/planners/rivals/sailor/region_orders.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/rivals/sailor/test_input.h"

namespace tangram::sailor {
namespace {

using ::testing::ElementsAre;

// Regions r, s and t of a zone each; 1 GB/s between them.
Input ThreeRegions() {
  Input input = TestInput(1, {1}, 1);
  input.zones.push_back({.name = "y", .region = "s", .gpus = {2}});
  input.zones.push_back({.name = "x", .region = "t", .gpus = {3}});
  AddConstantPaths(1, {1}, input);
  return input;
}

void SetRate(int from, int to, double gb_per_s, Input& input) {
  for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
    input.paths[{{a, 0, 1}, {b, 0, 1}}].most_bytes_per_s = gb_per_s * 1e9;
  }
}

TEST(RegionsOfTest, PutsTheZoneOfMostGpusFirst) {
  Input input = ThreeRegions();
  input.zones.push_back({.name = "w", .region = "r", .gpus = {9}});
  input.zones.push_back({.name = "v", .region = "q", .gpus = {0}});
  ASSERT_OK_AND_ASSIGN(const std::vector<Region> regions, RegionsOf(input));
  ASSERT_EQ(regions.size(), 3u);  // Region q has no GPU.
  EXPECT_EQ(regions[0].name, "r");
  EXPECT_THAT(regions[0].zones, ElementsAre(3, 0));
}

TEST(RegionOrdersTest, AvoidsTheSlowestStep) {
  Input input = ThreeRegions();
  SetRate(0, 1, 5, input);
  SetRate(1, 2, 4, input);
  SetRate(0, 2, 1, input);
  ASSERT_OK_AND_ASSIGN(const std::vector<Region> regions, RegionsOf(input));
  EXPECT_THAT(RegionOrders(input, regions),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2),
                          ElementsAre(0, 1), ElementsAre(1, 2),
                          ElementsAre(0, 1, 2), ElementsAre(0, 2)));
}

}  // namespace
}  // namespace tangram::sailor
