#include "cli/validation/residuals.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

// Ratios of `n` runs that are spread evenly from low to high.
std::vector<double> Even(double low, double high, int n) {
  std::vector<double> ratios;
  for (int i = 0; i < n; ++i) {
    ratios.push_back(low + (high - low) * (i + 0.5) / n);
  }
  return ratios;
}

ResidualCell TimesOf(std::string source, int rows, std::vector<double> ratios) {
  return {.quantity = Quantity::kTime,
          .source = std::move(source),
          .rows = rows,
          .ratios = std::move(ratios)};
}

double TimeTail(ResidualTable table) {
  ChooseTails(table);
  return table.tails[static_cast<size_t>(Quantity::kTime)];
}

TEST(ChooseTailsTest, AreTheWidestOfNineTenthsIfSourcesAreAlike) {
  EXPECT_EQ(TimeTail({.cells = {TimesOf("a", 200, Even(0.9, 1.1, 200)),
                                TimesOf("b", 200, Even(0.9, 1.1, 200))}}),
            kWidestTail);
}

TEST(ChooseTailsTest, CountRowsBetweenTheQuantilesOfALargeSource) {
  // Bands that know `few` alone go from 1/f to f, where f - 1/f is
  // 0.214 (1 - 2 t), and hold (f - 1/f) / 0.221 of `many`: 0.88 of them with
  // t = 0.046. Its outermost quantiles would need t = 0.035.
  EXPECT_NEAR(
      TimeTail({.cells = {TimesOf("few", 200, Even(0.893, 1.107, 200)),
                          TimesOf("many", 100000, Even(0.8945, 1.1155, 10))}}),
      0.046, 0.002);
}

TEST(ChooseTailsTest, OneBadSourceDoesNotWidenAllBands) {
  EXPECT_NEAR(TimeTail({.cells = {TimesOf("a", 200, Even(0.9, 1.1, 200)),
                                  TimesOf("b", 200, Even(3, 4, 200))}}),
              kWidestTail / 2, 0.001);
}

}  // namespace
}  // namespace tangram
