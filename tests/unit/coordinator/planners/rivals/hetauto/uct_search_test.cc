#include "coordinator/planners/rivals/hetauto/uct_search.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

bool GoOn() { return false; }

// Six binary decisions. A path is worth the share of actions that are those of
// `best`; the guided action is always 0.
class Word : public DecisionProblem {
 public:
  int NumActions(absl::Span<const int> path) const override {
    return path.size() < best_.size() ? 2 : 0;
  }
  int GuidedAction(absl::Span<const int>) const override { return 0; }
  double Reward(absl::Span<const int> path) override {
    paths.emplace_back(path.begin(), path.end());
    double right = 0;
    for (size_t i = 0; i < best_.size(); ++i) right += path[i] == best_[i];
    return right / static_cast<double>(best_.size());
  }

  std::vector<std::vector<int>> paths;

 private:
  const std::vector<int> best_ = {1, 0, 1, 1, 0, 1};
};

TEST(UctSearchTest, TheFirstPathIsGuided) {
  Word word;
  EXPECT_TRUE(UctSearch(word, {.iterations = 1}, GoOn));
  ASSERT_EQ(word.paths.size(), 1);
  EXPECT_THAT(word.paths[0], Each(0));
}

TEST(UctSearchTest, ComesBackToGoodPaths) {
  Word word;
  UctSearch(word, {.iterations = 400}, GoOn);
  int best = 0;
  for (size_t i = 300; i < 400; ++i) {
    best += word.paths[i] == std::vector<int>{1, 0, 1, 1, 0, 1};
  }
  EXPECT_GT(best, 20);  // One in 64 of random paths.
}

TEST(UctSearchTest, SameSeedSamePaths) {
  Word one;
  Word two;
  Word other;
  UctSearch(one, {.iterations = 50, .seed = 3}, GoOn);
  UctSearch(two, {.iterations = 50, .seed = 3}, GoOn);
  UctSearch(other, {.iterations = 50, .seed = 4}, GoOn);
  EXPECT_EQ(one.paths, two.paths);
  EXPECT_NE(one.paths, other.paths);
}

TEST(UctSearchTest, StopsWhenTold) {
  Word word;
  int polls = 0;
  EXPECT_FALSE(
      UctSearch(word, {.iterations = 1000}, [&] { return ++polls > 2; }));
  EXPECT_EQ(polls, 3);
  EXPECT_LT(word.paths.size(), 1000);
}

}  // namespace
}  // namespace tangram
