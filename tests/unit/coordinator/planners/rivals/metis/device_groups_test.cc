#include "coordinator/planners/rivals/metis/device_groups.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Groups = std::vector<std::vector<int>>;

Groups All(int num_gpus, int num_stages, const DeviceGroupLimits& limits) {
  Groups all;
  ForEachDeviceGroups(num_gpus, num_stages, limits,
                      [&](const std::vector<int>& groups) {
                        all.push_back(groups);
                        return true;
                      });
  return all;
}

// Up to 34 stages, as in the published planner for a model of 34 layers.
int64_t Count(int num_gpus, const DeviceGroupLimits& limits) {
  int64_t count = 0;
  for (int stages = 1; stages <= std::min(num_gpus, 34); ++stages) {
    ForEachDeviceGroups(num_gpus, stages, limits, [&](const auto&) {
      ++count;
      return true;
    });
  }
  return count;
}

TEST(DeviceGroupsTest, PowersOfTwoInEveryOrder) {
  EXPECT_THAT(All(4, 1, {}), ElementsAre(ElementsAre(4)));
  EXPECT_THAT(All(4, 2, {}), ElementsAre(ElementsAre(2, 2)));
  EXPECT_THAT(All(4, 3, {}),
              ElementsAre(ElementsAre(2, 1, 1), ElementsAre(1, 2, 1),
                          ElementsAre(1, 1, 2)));
}

TEST(DeviceGroupsTest, NoStageIsFarBelowTheMean) {
  EXPECT_THAT(All(10, 2, {.min_scale = 1}), IsEmpty());
  EXPECT_THAT(All(10, 2, {.min_scale = 0.4}),
              ElementsAre(ElementsAre(8, 2), ElementsAre(2, 8)));
}

TEST(DeviceGroupsTest, NoPowerOfTwoIsNoOneStage) {
  EXPECT_THAT(All(12, 1, {}), IsEmpty());
}

// Pairs of 1 keep together, so that two units are permuted.
TEST(DeviceGroupsTest, JoinsSmallGroupsBeforeItPermutes) {
  EXPECT_THAT(All(4, 3, {.max_permute_len = 2}),
              ElementsAre(ElementsAre(2, 1, 1), ElementsAre(1, 1, 2)));
}

TEST(DeviceGroupsTest, StopsWhenTold) {
  int visits = 0;
  ForEachDeviceGroups(4, 3, {}, [&](const auto&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

// Counts of the published generator.
TEST(DeviceGroupsTest, AsManyAsThePublishedGenerator) {
  EXPECT_EQ(Count(16, {1, 4}), 146);
  EXPECT_EQ(Count(16, {0.5, 4}), 254);
  EXPECT_EQ(Count(16, {0.5, 6}), 809);
  EXPECT_EQ(Count(32, {1, 4}), 1013);
  EXPECT_EQ(Count(32, {0.5, 4}), 2154);
  EXPECT_EQ(Count(32, {0.5, 6}), 12682);
  EXPECT_EQ(Count(64, {1, 4}), 1985);
  EXPECT_EQ(Count(64, {0.5, 4}), 15637);
  EXPECT_EQ(Count(64, {0.5, 6}), 145662);
  EXPECT_EQ(Count(128, {1, 4}), 78);
  EXPECT_EQ(Count(128, {0.5, 4}), 10615);
  EXPECT_EQ(Count(256, {1, 4}), 22);
  EXPECT_EQ(Count(256, {0.5, 4}), 6919);
}

}  // namespace
}  // namespace tangram
