#include "worker/adapters/search/annealing.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

constexpr AnnealingSchedule kSchedule = {
    .first_temperature = 0.5, .last_temperature = 0.01, .moves = 2000};

// States 0 to 20 in a row. Energy falls from 0 to 4, rises to a hill at 8, and
// falls to 16.
class Row {
 public:
  Row() {
    for (int state = 0; state <= 20; ++state) {
      neighbours_.emplace_back();
      if (state > 0) neighbours_.back().push_back(state - 1);
      if (state < 20) neighbours_.back().push_back(state + 1);
    }
  }

  // Returns the states asked for, at most `most`.
  std::vector<int> Walk(int start, const AnnealingSchedule& schedule, int seed,
                        size_t most = 10000) {
    std::vector<int> visited;
    std::mt19937_64 random(seed);
    Anneal(
        start, schedule,
        [&](int state) { return absl::MakeConstSpan(neighbours_[state]); },
        [&](int state) -> std::optional<double> {
          if (visited.size() == most) return std::nullopt;
          visited.push_back(state);
          return EnergyOf(state);
        },
        random);
    return visited;
  }

 private:
  static double EnergyOf(int state) {
    return state <= 8 ? 10 + std::abs(state - 4) * 0.5
                      : 8 + std::abs(state - 16) * 0.5;
  }

  std::vector<std::vector<int>> neighbours_;
};

TEST(AnnealTest, CrossesHillsWhileItIsHot) {
  int found = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const std::vector<int> visited = Row().Walk(0, kSchedule, seed);
    found += std::count(visited.begin(), visited.end(), 16) > 0;
  }
  EXPECT_GE(found, 18);
}

TEST(AnnealTest, StaysInTheValleyWhileItIsCold) {
  AnnealingSchedule cold = kSchedule;
  cold.first_temperature = 1e-4;
  cold.last_temperature = 1e-6;
  for (int seed = 0; seed < 20; ++seed) {
    const std::vector<int> visited = Row().Walk(0, cold, seed);
    EXPECT_LE(*std::max_element(visited.begin(), visited.end()), 5);
    EXPECT_THAT(visited, ::testing::Contains(4));
  }
}

TEST(AnnealTest, SameGeneratorMakesTheSameWalk) {
  EXPECT_EQ(Row().Walk(3, kSchedule, 7), Row().Walk(3, kSchedule, 7));
  EXPECT_NE(Row().Walk(3, kSchedule, 7), Row().Walk(3, kSchedule, 8));
}

TEST(AnnealTest, EndsWhereThereIsNoMoreEnergy) {
  EXPECT_EQ(Row().Walk(0, kSchedule, 1, 5).size(), 5u);
  EXPECT_TRUE(Row().Walk(0, kSchedule, 1, 0).empty());
}

TEST(AnnealTest, EndsWhereThereAreNoNeighbours) {
  int asked = 0;
  std::mt19937_64 random(1);
  Anneal(
      0, kSchedule, [](int) { return absl::Span<const int>(); },
      [&](int) -> std::optional<double> {
        ++asked;
        return 1.0;
      },
      random);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace tangram
