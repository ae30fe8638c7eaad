#include "common/band/margin_of_kind.h"

#include <algorithm>
#include <cmath>

namespace tangram {
namespace {

// Fewer runs have no 95th percentile.
constexpr int kLeastRuns = 20;
constexpr double kCovered = 0.95;
// Below, rounding of a driver's figures decides. Above, a few runs of one
// source whose memory is badly predicted would take too much from all others.
constexpr double kLeastMargin = 0.02;
constexpr double kLargestMargin = 0.12;

}  // namespace

// A run that needs r times its prediction fits if the prediction leaves
// 1 - 1 / r of the memory free.
double MemoryMarginOf(const ResidualTable& table, absl::string_view framework) {
  if (framework.empty()) return kUsualMemoryMargin;
  ResidualTable own;
  int runs = 0;
  for (const ResidualCell& cell : table.cells) {
    if (cell.quantity != Quantity::kMemory) continue;
    if (cell.traits.framework != framework) continue;
    own.cells.push_back(cell);
    runs += cell.rows;
  }
  if (runs < kLeastRuns) return kUsualMemoryMargin;
  // Cells of one framework weigh by their sources alone.
  for (ResidualCell& cell : own.cells) cell.traits = {};
  const double needed =
      ResidualDistribution(own, Quantity::kMemory, {}).Quantile(kCovered);
  const double margin = std::ceil(100 * (1 - 1 / needed)) / 100;
  return std::clamp(margin, kLeastMargin, kLargestMargin);
}

}  // namespace tangram
