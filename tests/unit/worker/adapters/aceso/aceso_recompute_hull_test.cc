#include "worker/adapters/aceso/aceso_recompute_hull.h"

#include <algorithm>
#include <random>

#include "common/domain/closed_segments.h"
#include "gmock/gmock.h"
#include "tests/testing/builders.h"

namespace tangram::aceso {
namespace {

using ::testing::ElementsAre;

double SecondsOf(const std::vector<RecomputeOperator>& operators, OpMask mask) {
  double seconds = 0;
  for (size_t i = 0; i < operators.size(); ++i) {
    if ((mask >> i & 1) != 0) seconds += operators[i].forward_s;
  }
  return seconds;
}

TEST(KeptBytesTest, ASegmentKeepsItsInputAlone) {
  const std::vector<RecomputeOperator> operators = {
      {.saved_bytes = 10, .input_bytes = 1},
      {.saved_bytes = 20, .input_bytes = 2},
      {.saved_bytes = 40, .input_bytes = 4}};

  EXPECT_EQ(KeptBytes(operators, 0b000), 70);  // 10 + 20 + 40
  EXPECT_EQ(KeptBytes(operators, 0b110), 12);  // 10 + 2
  EXPECT_EQ(KeptBytes(operators, 0b101), 25);  // 1 + 20 + 4
  EXPECT_EQ(KeptBytes(operators, 0b111), 1);
}

// The second operator frees 30 − 2 bytes a second, the first 9 − 0, the third
// nothing. Together the first two are one segment: 1 byte kept.
TEST(RecomputeHullTest, TakesBytesPerSecondInOrder) {
  const std::vector<RecomputeOperator> operators = {
      {.forward_s = 1, .saved_bytes = 10, .input_bytes = 1},
      {.forward_s = 1, .saved_bytes = 30, .input_bytes = 2},
      {.forward_s = 1, .saved_bytes = 5, .input_bytes = 5}};

  // Kept: 45; 10 + 2 + 5 = 17; 1 + 5 = 6; 1.
  EXPECT_THAT(RecomputeHull(operators),
              ElementsAre(0b000, 0b010, 0b011, 0b111));
}

TEST(RecomputeHullTest, HasOneMaskWhereNothingCanBeFreed) {
  EXPECT_THAT(
      RecomputeHull({{.forward_s = 1, .saved_bytes = 1, .input_bytes = 1}}),
      ElementsAre(kRecomputeNone));
}

// Compared with all 2^7 masks: for every exchange rate of seconds and bytes,
// some mask of the hull is within 1 % of the best mask.
TEST(RecomputeHullTest, IsAboutTheConvexHullOfAllMasks) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto draw = [&rng](int low, int high) {
      return low + static_cast<int>(rng() % static_cast<uint32_t>(high - low));
    };
    std::vector<RecomputeOperator> operators(7);
    for (RecomputeOperator& op : operators) {
      op = {.forward_s = 1.0 * draw(1, 20),
            .saved_bytes = 1.0 * draw(0, 30),
            .input_bytes = 1.0 * draw(1, 10)};
    }
    const std::vector<OpMask> hull = RecomputeHull(operators);

    for (const double bytes_per_second : {0.01, 0.3, 1.0, 3.0, 100.0}) {
      const auto cost = [&](OpMask mask) {
        return KeptBytes(operators, mask) +
               bytes_per_second * SecondsOf(operators, mask);
      };
      double best = cost(0);
      for (OpMask mask = 1; mask < 128; ++mask) {
        best = std::min(best, cost(mask));
      }
      double best_of_hull = cost(0);
      for (const OpMask mask : hull) {
        best_of_hull = std::min(best_of_hull, cost(mask));
      }
      EXPECT_LE(best_of_hull, best * 1.01);
    }
  }
}

// Recomputing the norm alone frees most for its time, but the residual that it
// makes would leave the segment.
TEST(RecomputeHullTest, GivenALayerItsSegmentsAreClosed) {
  const LayerSpec layer = testing::TestModel(1).layers[1];
  std::vector<RecomputeOperator> operators(OperatorsOf(layer).size());
  for (RecomputeOperator& op : operators) {
    op = {.forward_s = 1, .saved_bytes = 2, .input_bytes = 1};
  }
  operators.front() = {.forward_s = 0.1, .saved_bytes = 9, .input_bytes = 1};
  EXPECT_THAT(RecomputeHull(operators), ::testing::Contains(OpMask{1}));
  for (const OpMask mask : RecomputeHull(operators, &layer)) {
    EXPECT_EQ(CloseSegments(layer, mask), mask);
  }
  EXPECT_GT(RecomputeHull(operators, &layer).size(), 1u);
}

}  // namespace
}  // namespace tangram::aceso
