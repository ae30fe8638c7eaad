#include "worker/adapters/search/layer_frontier.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr int64_t kAmple = 1000;

std::vector<int64_t> MemoryOf(const LayerFrontier& frontier, int num_layers) {
  std::vector<int64_t> memory;
  for (const LayerFrontier::Label& label : frontier.labels(num_layers)) {
    memory.push_back(label.memory);
  }
  return memory;
}

TEST(LayerFrontierTest, TradesTimeForMemoryLayerByLayer) {
  // Kept: 10 units, 3 s. Recomputed: 4 units, 4 s.
  LayerFrontier frontier(2);
  for (int i = 0; i < 2; ++i) frontier.Append({{10, 3.0}, {4, 4.0}}, kAmple);

  EXPECT_THAT(MemoryOf(frontier, 1), ElementsAre(4, 10));
  EXPECT_THAT(MemoryOf(frontier, 2), ElementsAre(8, 14, 20));
  EXPECT_EQ(frontier.FastestWithin(2, 7), std::nullopt);
  EXPECT_THAT(frontier.FastestWithin(2, 8), Optional(0));
  EXPECT_THAT(frontier.FastestWithin(2, 13), Optional(0));
  EXPECT_THAT(frontier.FastestWithin(2, 14), Optional(1));
  EXPECT_THAT(frontier.FastestWithin(2, 99), Optional(2));
  EXPECT_DOUBLE_EQ(frontier.labels(2)[1].seconds, 7);  // 3 + 4
  EXPECT_THAT(frontier.ChoicesOf(2, 2), ElementsAre(0, 0));
  EXPECT_THAT(frontier.ChoicesOf(2, 0), ElementsAre(1, 1));
}

TEST(LayerFrontierTest, ChangesThatCostMoreThanTheySaveAreNotMade) {
  // One layer must take choice 1. Choice 0 would save the other layer 1 s, and
  // cost 1.5 s to return to.
  const std::vector<LayerChoice> any = {{1, 1.0}, {1, 2.0}};
  const std::vector<LayerChoice> only_second = {kNoLayerChoice, {1, 2.0}};
  LayerFrontier cheap(2, {0, 0.5, 0.5, 0});
  LayerFrontier dear(2, {0, 1.5, 1.5, 0});
  for (LayerFrontier* frontier : {&cheap, &dear}) {
    frontier->Append(any, kAmple);
    frontier->Append(only_second, kAmple);
  }

  const int of_cheap = *cheap.FastestWithin(2, kAmple);
  EXPECT_DOUBLE_EQ(cheap.labels(2)[of_cheap].seconds, 3.5);  // 1 + 0.5 + 2
  EXPECT_THAT(cheap.ChoicesOf(2, of_cheap), ElementsAre(0, 1));
  const int of_dear = *dear.FastestWithin(2, kAmple);
  EXPECT_DOUBLE_EQ(dear.labels(2)[of_dear].seconds, 4);  // 2 + 2
  EXPECT_THAT(dear.ChoicesOf(2, of_dear), ElementsAre(1, 1));
}

TEST(LayerFrontierTest, DropsWhatPassesTheLimit) {
  LayerFrontier frontier(2);
  frontier.Append({{10, 3.0}, {4, 4.0}}, 9);
  EXPECT_THAT(MemoryOf(frontier, 1), ElementsAre(4));
  frontier.Append({{10, 3.0}, {4, 4.0}}, 7);
  EXPECT_THAT(MemoryOf(frontier, 2), IsEmpty());
  EXPECT_EQ(frontier.FastestWithin(2, kAmple), std::nullopt);
}

TEST(LayerFrontierTest, OfEqualsTheFirstChoiceCounts) {
  LayerFrontier frontier(3);
  frontier.Append({{5, 2.0}, {5, 2.0}, {6, 2.0}}, kAmple);
  EXPECT_THAT(MemoryOf(frontier, 1), ElementsAre(5));
  EXPECT_THAT(frontier.ChoicesOf(1, 0), ElementsAre(0));
}

struct Instance {
  int num_layers = 0;
  int num_choices = 0;
  std::vector<std::vector<LayerChoice>> layers;
  std::vector<double> transition_s;
};

Instance RandomInstance(std::mt19937& rng) {
  Instance instance;
  instance.num_layers = std::uniform_int_distribution<int>(1, 6)(rng);
  instance.num_choices = std::uniform_int_distribution<int>(1, 5)(rng);
  const bool free_changes = rng() % 4 == 0;
  std::uniform_int_distribution<int> memory(0, 12);
  std::uniform_int_distribution<int> tenths(0, 40);
  for (int i = 0; i < instance.num_layers; ++i) {
    instance.layers.emplace_back();
    for (int s = 0; s < instance.num_choices; ++s) {
      instance.layers.back().push_back(
          rng() % 10 == 0 ? kNoLayerChoice
                          : LayerChoice{memory(rng), tenths(rng) * 0.1});
    }
  }
  for (int a = 0; a < instance.num_choices && !free_changes; ++a) {
    for (int b = 0; b < instance.num_choices; ++b) {
      instance.transition_s.push_back(a == b ? 0 : tenths(rng) * 0.03);
    }
  }
  return instance;
}

double SecondsOf(const Instance& instance, const std::vector<uint8_t>& choices,
                 int64_t& memory) {
  double seconds = 0;
  memory = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    const LayerChoice& choice = instance.layers[i][choices[i]];
    seconds += choice.seconds;
    memory += choice.memory;
    if (i > 0 && !instance.transition_s.empty()) {
      seconds +=
          instance
              .transition_s[choices[i - 1] * instance.num_choices + choices[i]];
    }
  }
  return seconds;
}

double FastestByEnumeration(const Instance& instance, int64_t budget) {
  double fastest_s = std::numeric_limits<double>::infinity();
  std::vector<uint8_t> choices(instance.num_layers, 0);
  while (true) {
    int64_t memory = 0;
    const double seconds = SecondsOf(instance, choices, memory);
    if (memory <= budget) fastest_s = std::min(fastest_s, seconds);
    int i = 0;
    while (i < instance.num_layers && ++choices[i] == instance.num_choices) {
      choices[i++] = 0;
    }
    if (i == instance.num_layers) return fastest_s;
  }
}

TEST(LayerFrontierTest, AgreesWithEnumeration) {
  int feasible = 0;
  int infeasible = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const Instance instance = RandomInstance(rng);
    const int64_t limit = std::uniform_int_distribution<int>(5, 60)(rng);
    LayerFrontier frontier(instance.num_choices, instance.transition_s);
    for (const auto& layer : instance.layers) frontier.Append(layer, limit);

    for (const int64_t budget : {limit / 4, limit / 2, limit}) {
      const double expected = FastestByEnumeration(instance, budget);
      const std::optional<int> label =
          frontier.FastestWithin(instance.num_layers, budget);
      ASSERT_EQ(label.has_value(), std::isfinite(expected));
      if (!label.has_value()) {
        ++infeasible;
        continue;
      }
      ++feasible;
      int64_t memory = 0;
      const double seconds = SecondsOf(
          instance, frontier.ChoicesOf(instance.num_layers, *label), memory);
      EXPECT_NEAR(seconds, expected, 1e-12);
      EXPECT_NEAR(frontier.labels(instance.num_layers)[*label].seconds,
                  expected, 1e-12);
      EXPECT_LE(memory, budget);
    }
  }
  EXPECT_GT(feasible, 200);
  EXPECT_GT(infeasible, 50);
}

}  // namespace
}  // namespace tangram
