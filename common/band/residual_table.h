#ifndef TANGRAM_COMMON_BAND_RESIDUAL_TABLE_H_
#define TANGRAM_COMMON_BAND_RESIDUAL_TABLE_H_

#include <array>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/prediction_band.h"

namespace tangram {

// The predictions that residuals belong to.
enum class Quantity {
  kTime,    // Iteration times.
  kMemory,  // Peak memory of the fullest GPU.
  // Ratios of the times of two runs of one model and framework on equally many
  // GPUs: how well predictions rank plans.
  kOrder,
};
inline constexpr int kNumQuantities = 3;  // Enumerators.

const char* QuantityName(Quantity quantity);  // "time"

// The error of a prediction depends on these.
struct PredictionTraits {
  // "ampere". Empty: unknown. Generations of mixed GPUs are joined by +.
  std::string generation;
  std::string framework;     // "Megatron-Core". Empty: unknown.
  bool experts = false;      // A mixture of experts.
  bool wide = false;         // At least 8 ranks share the tensors of a layer.
  bool fast_fabric = false;  // GPUs of a node have NVLink or its like.
  // GPUs: 0, up to 8; 1, up to 64; 2, more.
  int scale = 0;

  auto operator<=>(const PredictionTraits&) const = default;
};

// The share of runs on either side of a band whose quantiles are exact.
inline constexpr double kWidestTail = (1 - kBandCoverage) / 2;

// The share of pairs of plans whose predicted ratio of times is off by less
// than a tie. Pairs at its edge are in the right order five times of six.
inline constexpr double kTieCoverage = 2.0 / 3;

// Returns PredictionTraits::scale.
int ScaleOf(int num_gpus);

// The residuals of the runs of one source with the same traits.
struct ResidualCell {
  Quantity quantity = Quantity::kTime;
  std::string source;
  PredictionTraits traits;
  int rows = 0;
  // measurement / prediction at equally spaced quantiles, ascending.
  std::vector<double> ratios;
};

struct ResidualTable {
  std::vector<ResidualCell> cells;
  // Share of a band's runs on either side of it, by quantity; that of kOrder is
  // not used. It is chosen so that bands of sources left out hold about
  // kBandCoverage of their rows: less than half of the rest, because a new
  // source differs from all others.
  std::array<double, kNumQuantities> tails = {kWidestTail, kWidestTail,
                                              kWidestTail};
  // Generation of each GPU type.
  std::map<std::string, std::string> generations;

  // Empty for a type that nobody measured or described.
  std::string GenerationOf(absl::string_view type) const;
};

// Summarises ratios as ResidualCell::ratios. Sorts them.
std::vector<double> SummarizeRatios(std::vector<double> ratios);

// The distribution of measurement / prediction for runs of these traits.
// Sources that share traits weigh more, and those of many rows more than those
// of few. So an unknown framework or GPU has the quantiles of all sources.
// Leaves out the source `left_out`; empty: none.
class ResidualDistribution {
 public:
  ResidualDistribution(const ResidualTable& table, Quantity quantity,
                       const PredictionTraits& traits,
                       absl::string_view left_out = "");

  // Returns the ratio that a fraction `q` of runs stays below. 1 if there are
  // no residuals of the quantity.
  double Quantile(double q) const;

  // Returns the band of the least factor f for which a fraction `share` of runs
  // has a ratio from 1/f to f. A source has an error of its own, too fast or
  // too slow, and that of the next one may be either. So both sides of the
  // others tell how far off it may be on each side.
  Band BandOfShare(double share) const;

 private:
  struct Entry {
    double value = 1;
    double position = 0;  // Share of the weight below its middle.
  };

  // Replaces weights in `position` by positions.
  static void Sort(std::vector<Entry>& entries);
  static double QuantileOf(const std::vector<Entry>& entries, double q);

  std::vector<Entry> ratios_;   // Ascending.
  std::vector<Entry> factors_;  // Ratios or their inverses, from 1 up.
};

// Returns the band that holds kBandCoverage of the runs.
Band BandOf(const ResidualTable& table, Quantity quantity,
            const PredictionTraits& traits);

// Returns all bands of a prediction.
PredictionBand BandsOf(const ResidualTable& table,
                       const PredictionTraits& traits);

// The format of residuals.csv, both ways. Parsing returns kInvalidArgument with
// the line at fault.
std::string FormatResiduals(const ResidualTable& table);
absl::StatusOr<ResidualTable> ParseResiduals(absl::string_view text);

// Returns the text of residuals.csv, which the build puts into the library.
absl::string_view ResidualsCsv();

// Returns residuals.csv, parsed on first use. Thread-safe.
const ResidualTable& ShippedResiduals();

}  // namespace tangram

#endif  // TANGRAM_COMMON_BAND_RESIDUAL_TABLE_H_
