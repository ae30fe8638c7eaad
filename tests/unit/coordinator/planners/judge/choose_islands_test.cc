#include "coordinator/planners/judge/choose_islands.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(ChooseIslandsTest, TheFastestWins) {
  EXPECT_EQ(ChooseIslands({{0b01, 12}, {0b11, 10}, {0b11, 11}}, 0.01), 1);
}

TEST(ChooseIslandsTest, AnIslandThatBringsNextToNothingIsLeftOut) {
  EXPECT_EQ(ChooseIslands({{0b11, 10}, {0b01, 10.05}}, 0.01), 1);
  EXPECT_EQ(ChooseIslands({{0b11, 10}, {0b01, 10.05}}, 0), 0);
}

TEST(ChooseIslandsTest, AnIslandIsJudgedBesideAllOthers) {
  // The second island brings 20 %, the third 0.5 % on top.
  EXPECT_EQ(ChooseIslands({{0b001, 12}, {0b011, 10}, {0b111, 9.95}}, 0.01), 1);
}

TEST(ChooseIslandsTest, TiesGoToTheFirst) {
  EXPECT_EQ(ChooseIslands({{0b01, 10}, {0b10, 10}, {0b01, 10}}, 0.01), 0);
  EXPECT_EQ(ChooseIslands({{0b10, 10}, {0b01, 10}}, 0.01), 0);
  // Without a gain demanded, also where the first uses more islands.
  EXPECT_EQ(ChooseIslands({{0b11, 10}, {0b100, 10}}, 0), 0);
}

TEST(ChooseIslandsTest, OneIslandMoreNeverMakesItSlower) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<double> seconds(1, 1.1);
  for (int round = 0; round < 500; ++round) {
    std::vector<ScoredPipeline> all;
    for (uint32_t islands = 1; islands < 16; ++islands) {
      all.push_back({islands, seconds(rng)});
    }
    std::vector<ScoredPipeline> without;
    std::copy_if(all.begin(), all.end(), std::back_inserter(without),
                 [](const ScoredPipeline& p) { return p.islands < 8; });
    EXPECT_LE(all[ChooseIslands(all, 0.03)].iteration_time_s,
              without[ChooseIslands(without, 0.03)].iteration_time_s);
  }
}

}  // namespace
}  // namespace tangram
