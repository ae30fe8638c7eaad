#ifndef TANGRAM_COMMON_DOMAIN_PREDICTION_BAND_H_
#define TANGRAM_COMMON_DOMAIN_PREDICTION_BAND_H_

namespace tangram {

// The share of runs whose measurement is inside the band of its prediction, as
// far as other sources tell.
inline constexpr double kBandCoverage = 0.9;

// Where a measurement is expected, as factors of the prediction.
struct Band {
  double low = 0;
  double high = 0;

  double half_width() const { return (high - low) / 2; }
  bool operator==(const Band&) const = default;
};

// How far the prediction of a plan may be off (docs/accuracy.md).
struct PredictionBand {
  Band time;    // Iteration time.
  Band memory;  // Peak memory of a GPU.
  // The factor by which the times of two plans of one model on one cluster must
  // differ before a run is expected to agree which is faster: 1.1.
  double tie = 1;

  bool operator==(const PredictionBand&) const = default;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_PREDICTION_BAND_H_
