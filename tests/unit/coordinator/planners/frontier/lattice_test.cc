#include "coordinator/planners/frontier/lattice.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(LatticeTest, TheLastGroupRunsFastest) {
  const Lattice lattice{{{0, 2}, {0, 1, 4}}};
  EXPECT_EQ(lattice.size(), 6);
  EXPECT_THAT(lattice.At(0), ElementsAre(0, 0));
  EXPECT_THAT(lattice.At(2), ElementsAre(0, 4));
  EXPECT_THAT(lattice.At(4), ElementsAre(2, 1));
}

TEST(EnvelopeTest, IsTheBestOfWhatIsWithin) {
  const Lattice lattice{{{0, 1}, {0, 1, 2}}};
  const std::vector<std::optional<double>> seconds = {std::nullopt, 8, 9, 5,
                                                      std::nullopt, 4};
  EXPECT_THAT(
      Envelope(lattice, seconds),
      ElementsAre(Eq(std::nullopt), Optional(EnvelopePoint{8, 1}),
                  Optional(EnvelopePoint{8, 1}), Optional(EnvelopePoint{5, 3}),
                  Optional(EnvelopePoint{5, 3}),
                  Optional(EnvelopePoint{4, 5})));
}

// Compares with the definition, on random lattices.
TEST(EnvelopeTest, EqualsTheMinimumOverAllWithin) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Lattice lattice;
    for (size_t g = 0; g < 1 + random() % 3; ++g) {
      std::vector<int>& counts = lattice.counts.emplace_back();
      for (int n = 0; n < 5; ++n) {
        if (counts.empty() || random() % 2 == 0) counts.push_back(n);
      }
    }
    std::vector<std::optional<double>> seconds(lattice.size());
    for (auto& s : seconds) {
      if (random() % 4 != 0) s = static_cast<double>(random() % 6);
    }
    const auto envelope = Envelope(lattice, seconds);
    for (int64_t at = 0; at < lattice.size(); ++at) {
      std::optional<EnvelopePoint> least;
      for (int64_t other = 0; other < lattice.size(); ++other) {
        const std::vector<int> a = lattice.At(at);
        const std::vector<int> b = lattice.At(other);
        const bool within = std::equal(b.begin(), b.end(), a.begin(),
                                       [](int x, int y) { return x <= y; });
        if (!within || !seconds[other].has_value()) continue;
        if (!least.has_value() || *seconds[other] < least->seconds) {
          least = EnvelopePoint{*seconds[other], other};
        }
      }
      EXPECT_EQ(envelope[at], least);
    }
  }
}

TEST(ParetoFrontTest, KeepsWhatNothingBeats) {
  const std::vector<std::optional<TimeAndPrice>> points = {
      TimeAndPrice{10, 1}, TimeAndPrice{5, 4}, std::nullopt,
      TimeAndPrice{6, 4},  TimeAndPrice{5, 4}, TimeAndPrice{7, 2},
      TimeAndPrice{4, 9}};
  EXPECT_THAT(ParetoFront(points), ElementsAre(0, 5, 1, 6));
  EXPECT_THAT(ParetoFront({}), IsEmpty());
}

}  // namespace
}  // namespace tangram
