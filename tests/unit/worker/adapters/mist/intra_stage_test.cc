#include "worker/adapters/mist/intra_stage.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::mist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MATCHER_P4(Tuned, steady_s, extra_s, offload, recomputed, "") {
  return arg.policy.steady_s == steady_s && arg.policy.extra_s == extra_s &&
         arg.offload == offload && arg.recomputed == recomputed;
}

TEST(PolicyFrontTest, KeepsWhatNothingCovers) {
  PolicyFront front;
  front.Add({.policy = {3, 1}});
  front.Add({.policy = {1, 5}});
  front.Add({.policy = {2, 5}});  // Covered.
  front.Add({.policy = {2, 1}});  // Covers the first.

  EXPECT_TRUE(front.Covers({2, 2}));
  EXPECT_FALSE(front.Covers({1.5, 4}));
  EXPECT_THAT(front.policies(),
              ElementsAre(Tuned(1, 5, 0, 0), Tuned(2, 1, 0, 0)));
}

// A stage of four layers in memory for 10. A kept layer takes 3; a recomputed
// one takes 1 and adds a second. Offloading half of the optimizer state saves 2
// of 4 and costs 5 seconds once.
class TunePoliciesTest : public ::testing::Test {
 protected:
  PolicyFigures FiguresOf(int offload, int recomputed) {
    asked_.emplace_back(offload, recomputed);
    const double fraction = offloads_[offload].optimizer;
    const double memory =
        3 * (4 - recomputed) + recomputed + 4 * (1 - fraction);
    return {
        .policy = {.steady_s = 4.0 + recomputed, .extra_s = 1 + 10 * fraction},
        .fits = memory <= capacity_};
  }
  void Tune(int degrees = 0) {
    TunePolicies(
        degrees, offloads_, 4,
        [this](int offload, int recomputed) {
          return FiguresOf(offload, recomputed);
        },
        front_);
  }

  const std::vector<HostOffload> offloads_ = {
      {}, {.optimizer = 0.5}, {.optimizer = 1}};
  double capacity_ = 10;
  std::vector<std::pair<int, int>> asked_;
  PolicyFront front_;
};

TEST_F(TunePoliciesTest, TakesTheFewestLayersThatFit) {
  Tune();

  // 12 + 4 less 2 for each layer: 3 layers. With half of the state on the host
  // 2 layers, with all of it 1.
  EXPECT_THAT(
      front_.policies(),
      ElementsAre(Tuned(5, 11, 2, 1), Tuned(6, 6, 1, 2), Tuned(7, 1, 0, 3)));
}

TEST_F(TunePoliciesTest, DoesNothingToWhatFits) {
  capacity_ = 16;

  Tune();

  EXPECT_THAT(front_.policies(), ElementsAre(Tuned(4, 1, 0, 0)));
  EXPECT_THAT(asked_, ElementsAre(std::pair(0, 0)));
}

TEST_F(TunePoliciesTest, OffloadsNoMoreThanItMust) {
  capacity_ = 14;

  Tune();

  // Half is enough with nothing recomputed, so offloading all is not tried.
  EXPECT_THAT(front_.policies(),
              ElementsAre(Tuned(4, 6, 1, 0), Tuned(5, 1, 0, 1)));
}

TEST_F(TunePoliciesTest, NothingMayFit) {
  capacity_ = 3;

  Tune();

  EXPECT_THAT(front_.policies(), IsEmpty());
}

TEST_F(TunePoliciesTest, DegreesAreLeftOnceTheyAreCovered) {
  front_.Add({.policy = {4, 1}, .degrees = 7});

  Tune();

  EXPECT_THAT(asked_, ElementsAre(std::pair(0, 0)));
  EXPECT_EQ(front_.policies()[0].degrees, 7);
}

}  // namespace
}  // namespace tangram::mist
