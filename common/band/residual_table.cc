#include "common/band/residual_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/check.h"

namespace tangram {
namespace {

// Quantiles that a cell keeps: (i + 0.5) / 10.
constexpr int kKeptQuantiles = 10;
// A source of n rows weighs n^kRowsPower: more rows tell more of one cluster,
// and little of others.
constexpr double kRowsPower = 0.5;
// How much more the residuals of a source weigh that shares a trait. Chosen so
// that bands of sources left out hold about nine of ten of their rows and are
// narrow (docs/accuracy.md).
constexpr double kSameGeneration = 2;
constexpr double kSameFramework = 2;
constexpr double kSameExperts = 6;
constexpr double kSameWide = 2;
constexpr double kSameScale = 3;

double Similarity(const PredictionTraits& a, const PredictionTraits& b) {
  double weight = 1;
  const auto match = [&weight](bool same, double factor) {
    if (same) weight *= factor;
  };
  match(!a.generation.empty() && a.generation == b.generation, kSameGeneration);
  match(!a.framework.empty() && a.framework == b.framework, kSameFramework);
  match(a.experts == b.experts, kSameExperts);
  match(a.wide == b.wide, kSameWide);
  match(a.scale == b.scale, kSameScale);
  return weight;
}

struct WeightedRatio {
  double ratio = 1;
  double weight = 0;
};

// Returns the ratios of a quantity by their weight for these traits, ascending.
std::vector<WeightedRatio> WeightedRatios(const ResidualTable& table,
                                          Quantity quantity,
                                          const PredictionTraits& traits) {
  std::map<absl::string_view, int> rows_of_source;
  for (const ResidualCell& cell : table.cells) {
    if (cell.quantity == quantity) rows_of_source[cell.source] += cell.rows;
  }
  std::vector<WeightedRatio> ratios;
  for (const ResidualCell& cell : table.cells) {
    if (cell.quantity != quantity) continue;
    const double rows = rows_of_source[cell.source];
    const double weight = Similarity(cell.traits, traits) * cell.rows *
                          std::pow(rows, kRowsPower - 1) /
                          static_cast<double>(cell.ratios.size());
    for (const double ratio : cell.ratios) ratios.push_back({ratio, weight});
  }
  std::sort(ratios.begin(), ratios.end(),
            [](const WeightedRatio& a, const WeightedRatio& b) {
              return a.ratio < b.ratio;
            });
  return ratios;
}

// Interpolates between the ratios: each stands at the middle of its weight.
double QuantileOf(const std::vector<WeightedRatio>& ratios, double q) {
  if (ratios.empty()) return 1;
  double total = 0;
  for (const WeightedRatio& entry : ratios) total += entry.weight;
  double below = 0;
  double last_position = 0;
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double position = (below + ratios[i].weight / 2) / total;
    if (position >= q) {
      if (i == 0) return ratios[0].ratio;
      const double share = (q - last_position) / (position - last_position);
      return ratios[i - 1].ratio +
             share * (ratios[i].ratio - ratios[i - 1].ratio);
    }
    last_position = position;
    below += ratios[i].weight;
  }
  return ratios.back().ratio;
}

}  // namespace

const char* QuantityName(Quantity quantity) {
  switch (quantity) {
    case Quantity::kTime:
      return "time";
    case Quantity::kMemory:
      return "memory";
    case Quantity::kOrder:
      return "order";
  }
  return "";
}

int ScaleOf(int num_gpus) { return num_gpus <= 8 ? 0 : num_gpus <= 64 ? 1 : 2; }

std::string ResidualTable::GenerationOf(absl::string_view type) const {
  const auto it = generations.find(std::string(type));
  return it == generations.end() ? "" : it->second;
}

std::vector<double> SummarizeRatios(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  if (ratios.size() <= kKeptQuantiles) return ratios;
  std::vector<WeightedRatio> weighted;
  for (const double ratio : ratios) weighted.push_back({ratio, 1});
  std::vector<double> kept;
  for (int i = 0; i < kKeptQuantiles; ++i) {
    kept.push_back(QuantileOf(weighted, (i + 0.5) / kKeptQuantiles));
  }
  return kept;
}

double ResidualQuantile(const ResidualTable& table, Quantity quantity,
                        const PredictionTraits& traits, double q) {
  return QuantileOf(WeightedRatios(table, quantity, traits), q);
}

Band BandOf(const ResidualTable& table, Quantity quantity,
            const PredictionTraits& traits) {
  const std::vector<WeightedRatio> ratios =
      WeightedRatios(table, quantity, traits);
  const double tail = (1 - kBandCoverage) / 2;
  return {.low = QuantileOf(ratios, tail),
          .high = QuantileOf(ratios, 1 - tail)};
}

PredictionBand BandsOf(const ResidualTable& table,
                       const PredictionTraits& traits) {
  const Band order = BandOf(table, Quantity::kOrder, traits);
  return {.time = BandOf(table, Quantity::kTime, traits),
          .memory = BandOf(table, Quantity::kMemory, traits),
          .tie = std::max({1.0, order.high, 1 / order.low})};
}

const ResidualTable& ShippedResiduals() {
  // Never destroyed, so that other code may read it during exit.
  static const auto& table = *new ResidualTable([] {
    absl::StatusOr<ResidualTable> parsed = ParseResiduals(ResidualsCsv());
    TANGRAM_CHECK(parsed.ok());
    return *std::move(parsed);
  }());
  return table;
}

}  // namespace tangram
