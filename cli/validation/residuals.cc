#include "cli/validation/residuals.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "common/band/framework_family.h"
#include "common/band/traits_of_plan.h"
#include "formats/config/device_catalogue.h"

namespace tangram {
namespace {

using CellKey = std::tuple<Quantity, std::string, PredictionTraits>;
using Cells = std::map<CellKey, std::vector<double>>;

double TimeRatio(const PredictedRun& run) {
  return *run.run->iteration_s / run.prediction.iteration_s;
}

// Adds the ratios of neighbours in each group, both ways, since either may be
// the one that a planner takes.
void AddOrders(absl::Span<const PredictedRun* const> runs, Cells& cells) {
  std::map<std::pair<std::string, std::string>, const PredictedRun*> last;
  for (const PredictedRun* run : runs) {
    if (!run->run->iteration_s) continue;
    const PredictedRun*& before =
        last[{run->run->source, ComparableKey(*run->run)}];
    if (before != nullptr) {
      const double ratio = TimeRatio(*run) / TimeRatio(*before);
      std::vector<double>& ratios =
          cells[{Quantity::kOrder, run->run->source, run->traits}];
      ratios.push_back(ratio);
      ratios.push_back(1 / ratio);
    }
    before = run;
  }
}

// Returns the share of a cell's rows from low to high. Between the quantiles
// that a cell of many rows keeps, value i of n stands at (i + 0.5) / n.
double ShareWithin(const ResidualCell& cell, double low, double high) {
  const std::vector<double>& kept = cell.ratios;
  const auto n = static_cast<double>(kept.size());
  if (cell.rows <= n) {
    const auto within = std::count_if(
        kept.begin(), kept.end(),
        [low, high](double ratio) { return ratio >= low && ratio <= high; });
    return static_cast<double>(within) / n;
  }
  // Interpolates above the first value, up to the last.
  const auto below = [&kept, n](double ratio) {
    const auto above = std::lower_bound(kept.begin(), kept.end(), ratio);
    const double least = *std::prev(above);
    return (static_cast<double>(above - kept.begin()) - 0.5 +
            (ratio - least) / (*above - least)) /
           n;
  };
  if (low > kept.back() || high < kept.front()) return 0;
  const double to = high >= kept.back()   ? 1
                    : high > kept.front() ? below(high)
                                          : 0;
  return to - (low <= kept.front() ? 0 : below(low));
}

// Returns the share of rows inside bands with these tails that do not know the
// row's source.
double CoverageWithout(const ResidualTable& table, Quantity quantity,
                       double tail) {
  double rows = 0;
  double inside = 0;
  for (const ResidualCell& cell : table.cells) {
    if (cell.quantity != quantity) continue;
    const ResidualDistribution others(table, quantity, cell.traits,
                                      cell.source);
    rows += cell.rows;
    const Band band = others.BandOfShare(1 - 2 * tail);
    inside += cell.rows * ShareWithin(cell, band.low, band.high);
  }
  return rows > 0 ? inside / rows : 1;
}

}  // namespace

ResidualTable CatalogueGenerations() {
  ResidualTable table;
  for (const CatalogueDevice& known : DeviceCatalogue()) {
    table.generations[known.device.type] = known.generation;
  }
  return table;
}

PredictionTraits TraitsOfRun(const ResidualTable& table, const MeasuredRun& run,
                             const ExpressedRun& expressed) {
  const PipelinePlan* plan = &expressed.plan;
  return TraitsOfPlan(table, expressed.model, expressed.cluster, {&plan, 1},
                      FrameworkFamily(run.framework));
}

void AddResiduals(absl::Span<const PredictedRun* const> runs,
                  absl::string_view left_out, ResidualTable& table) {
  std::vector<const PredictedRun*> kept;
  Cells cells;
  for (const PredictedRun* run : runs) {
    const MeasuredRun& measured = *run->run;
    if (!left_out.empty() && measured.source == left_out) continue;
    kept.push_back(run);
    if (measured.iteration_s) {
      cells[{Quantity::kTime, measured.source, run->traits}].push_back(
          TimeRatio(*run));
    }
    if (measured.memory_bytes) {
      cells[{Quantity::kMemory, measured.source, run->traits}].push_back(
          *measured.memory_bytes / run->prediction.memory_bytes);
    }
  }
  AddOrders(kept, cells);
  for (auto& [key, ratios] : cells) {
    const auto& [quantity, source, traits] = key;
    table.cells.push_back({.quantity = quantity,
                           .source = source,
                           .traits = traits,
                           .rows = static_cast<int>(ratios.size()),
                           .ratios = SummarizeRatios(std::move(ratios))});
  }
}

void ChooseTails(ResidualTable& table) {
  constexpr double kStep = 0.001;
  // A bit less than kBandCoverage, for narrower bands: the last rows of a few
  // sources are far from all others.
  constexpr double kLeastCoverage = 0.88;
  // Beyond, one source decides how wide the bands of all others are.
  constexpr double kNarrowestTail = kWidestTail / 2;
  for (const Quantity quantity : {Quantity::kTime, Quantity::kMemory}) {
    double& tail = table.tails[static_cast<size_t>(quantity)];
    tail = kWidestTail;
    while (tail > kNarrowestTail &&
           CoverageWithout(table, quantity, tail) < kLeastCoverage) {
      tail -= kStep;
    }
  }
}

}  // namespace tangram
