#include "common/band/residual_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/check.h"

namespace tangram {
namespace {

// Quantiles that a cell keeps: (i + 0.5) / 10.
constexpr int kKeptQuantiles = 10;
// A source of n rows weighs n^kRowsPower: more rows tell more of one cluster,
// and less of others.
constexpr double kRowsPower = 0.5;
// How much more the residuals of a source weigh that shares a trait. Chosen so
// that bands of sources left out hold about nine of ten of their rows and are
// narrow (docs/accuracy.md).
constexpr double kSameGeneration = 2;
constexpr double kSameFramework = 1.5;
constexpr double kSameExperts = 6;
constexpr double kSameWide = 1.5;
constexpr double kSameScale = 2;
constexpr double kSameFabric = 10;

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
  match(a.fast_fabric == b.fast_fabric, kSameFabric);
  return weight;
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
  std::vector<double> kept;
  for (int i = 0; i < kKeptQuantiles; ++i) {
    // Value n stands at the middle of its share of the ratios.
    const double at =
        (i + 0.5) / kKeptQuantiles * static_cast<double>(ratios.size()) - 0.5;
    const auto below = static_cast<size_t>(at);
    const double share = at - static_cast<double>(below);
    kept.push_back((1 - share) * ratios[below] + share * ratios[below + 1]);
  }
  return kept;
}

ResidualDistribution::ResidualDistribution(const ResidualTable& table,
                                           Quantity quantity,
                                           const PredictionTraits& traits,
                                           absl::string_view left_out) {
  std::map<absl::string_view, int> rows_of_source;
  for (const ResidualCell& cell : table.cells) {
    if (cell.quantity == quantity) rows_of_source[cell.source] += cell.rows;
  }
  for (const ResidualCell& cell : table.cells) {
    if (cell.quantity != quantity) continue;
    if (!left_out.empty() && cell.source == left_out) continue;
    const double rows = rows_of_source[cell.source];
    const double weight = Similarity(cell.traits, traits) * cell.rows *
                          std::pow(rows, kRowsPower - 1) /
                          static_cast<double>(cell.ratios.size());
    for (const double ratio : cell.ratios) {
      ratios_.push_back({ratio, weight});
      factors_.push_back({std::max(ratio, 1 / ratio), weight});
    }
  }
  Sort(ratios_);
  Sort(factors_);
}

void ResidualDistribution::Sort(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.value < b.value; });
  double total = 0;
  for (const Entry& entry : entries) total += entry.position;
  double below = 0;
  for (Entry& entry : entries) {
    const double weight = entry.position;
    entry.position = (below + weight / 2) / total;
    below += weight;
  }
}

double ResidualDistribution::Quantile(double q) const {
  return QuantileOf(ratios_, q);
}

Band ResidualDistribution::BandOfShare(double share) const {
  const double factor = QuantileOf(factors_, share);
  return {.low = 1 / factor, .high = factor};
}

double ResidualDistribution::QuantileOf(const std::vector<Entry>& entries,
                                        double q) {
  if (entries.empty()) return 1;
  const auto above = std::lower_bound(
      entries.begin(), entries.end(), q,
      [](const Entry& entry, double at) { return entry.position < at; });
  if (above == entries.begin()) return entries.front().value;
  if (above == entries.end()) return entries.back().value;
  const Entry& below = *std::prev(above);
  const double share =
      (q - below.position) / (above->position - below.position);
  return below.value + share * (above->value - below.value);
}

Band BandOf(const ResidualTable& table, Quantity quantity,
            const PredictionTraits& traits) {
  const double tail = table.tails[static_cast<size_t>(quantity)];
  return ResidualDistribution(table, quantity, traits)
      .BandOfShare(1 - 2 * tail);
}

PredictionBand BandsOf(const ResidualTable& table,
                       const PredictionTraits& traits) {
  const ResidualDistribution orders(table, Quantity::kOrder, traits);
  constexpr double kTail = (1 - kTieCoverage) / 2;
  return {.time = BandOf(table, Quantity::kTime, traits),
          .memory = BandOf(table, Quantity::kMemory, traits),
          .tie = std::max(
              {1.0, orders.Quantile(1 - kTail), 1 / orders.Quantile(kTail)})};
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
