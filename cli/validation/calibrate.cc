#include "cli/validation/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "common/sim/evaluate_plan.h"

namespace tangram {
namespace {

// Standard deviation of a constant's logarithm, as clusters differ. A constant
// this far from the catalogue's value costs half; an error of one sample by
// kSampleScale costs 1.
struct Prior {
  Constant constant;
  double deviation;
};
// Guesses: peaks of GPUs are known best, networks differ most between clusters.
constexpr Prior kPriors[] = {
    {Constant::kGemmMaxFraction, 0.2},   {Constant::kGemmHalfFlops, 0.7},
    {Constant::kAttentionFraction, 0.4}, {Constant::kMemoryFraction, 0.4},
    {Constant::kHostLaunch, 0.7},        {Constant::kIntraNodeBandwidth, 0.5},
    {Constant::kIntraNodeLatency, 0.7},  {Constant::kInterNodeBandwidth, 0.7},
    {Constant::kInterNodeLatency, 0.7}};
// About the largest mean error of a source with the catalogue's constants
// (docs/accuracy.md).
constexpr double kSampleScale = 0.2;

// Widest and finest step of the search, in natural logarithms: factors of 1.5
// and 1.005. Measured times vary by more than the finest.
constexpr double kFirstStep = 0.4;
constexpr double kLastStep = 0.005;

// Nine constants explain the noise of a few rows as well. So with enough rows,
// the factors go only a share of the way from the catalogue, by how well fits
// to four of five folds predict the fifth. Fewer rows cannot tell.
constexpr size_t kLeastSamplesToShare = 8;
constexpr int kFolds = 5;
constexpr std::array<double, 5> kShares = {1, 0.75, 0.5, 0.25, 0};

// Minimises over the logarithms x_i of all factors
//   Σ_i (x_i / deviation_i)² / 2 + Σ_samples |ln(predicted / measured)| / scale
class Fit {
 public:
  explicit Fit(absl::Span<const CalibrationSample> samples)
      : samples_(samples) {
    std::set<std::string> types;
    for (const CalibrationSample& sample : samples) {
      for (const Node& node : sample.run->cluster.nodes) {
        types.insert(node.device.type);
      }
    }
    for (const std::string& type : types) {
      for (const Prior& prior : kPriors) {
        calibration_.push_back({type, prior.constant});
        deviations_.push_back(prior.deviation);
      }
    }
  }

  Calibration Run() {
    const double share =
        samples_.size() < kLeastSamplesToShare ? 1 : ConfirmedShare();
    Search(kNoFold);
    SetFactors(share);
    return calibration_;
  }

 private:
  // Sample i is in fold i mod kFolds.
  static constexpr int kNoFold = -1;

  bool IsInFold(size_t sample) const {
    return fold_ != kNoFold && sample % kFolds == static_cast<size_t>(fold_);
  }

  // Finds the logarithms that explain the samples outside a fold best.
  void Search(int fold) {
    fold_ = fold;
    logs_.assign(calibration_.size(), 0);
    double best = Loss();
    for (double step = kFirstStep; step >= kLastStep; step /= 2) {
      while (Sweep(step, best)) {
      }
    }
  }

  // Returns the mean of kShares by the likelihood of the errors e of samples to
  // which nothing was fitted: e^-n for n samples, since their scale is unknown.
  // The likeliest share itself is mostly luck.
  double ConfirmedShare() {
    std::array<double, kShares.size()> errors{};
    for (int fold = 0; fold < kFolds; ++fold) {
      Search(fold);
      for (size_t s = 0; s < kShares.size(); ++s) {
        SetFactors(kShares[s]);
        errors[s] += Errors(/*inside=*/true);
      }
    }
    const double least = *std::min_element(errors.begin(), errors.end());
    if (least <= 0) return 1;
    double weights = 0;
    double sum = 0;
    for (size_t s = 0; s < kShares.size(); ++s) {
      const double weight =
          std::pow(least / errors[s], static_cast<double>(samples_.size()));
      weights += weight;
      sum += weight * kShares[s];
    }
    return sum / weights;
  }

  // Tries a step in both directions on each constant. Returns whether any
  // helped.
  bool Sweep(double step, double& best) {
    bool improved = false;
    for (double& log : logs_) {
      for (const double change : {step, -step}) {
        const double before = log;
        log += change;
        const double loss = Loss();
        if (loss < best - 1e-9) {
          best = loss;
          improved = true;
          break;
        }
        log = before;
      }
    }
    return improved;
  }

  double Loss() {
    SetFactors(1);
    double loss = 0;
    for (size_t i = 0; i < logs_.size(); ++i) {
      const double deviations = logs_[i] / deviations_[i];
      loss += deviations * deviations / 2;
    }
    return loss + Errors(/*inside=*/false) / kSampleScale;
  }

  // Returns the sum of |ln(predicted / measured)| over the samples inside the
  // fold, or of those outside.
  double Errors(bool inside) const {
    double sum = 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (IsInFold(i) != inside) continue;
      const CalibrationSample& sample = samples_[i];
      Cluster cluster = sample.run->cluster;
      ApplyCalibration(calibration_, cluster);
      const absl::StatusOr<Evaluation> evaluation = EvaluatePlan(
          sample.run->model, cluster, sample.run->training, sample.run->plan);
      if (!evaluation.ok()) continue;
      const double predicted_s =
          evaluation->iteration_time_s + sample.run->overhead_s;
      sum += std::abs(std::log(predicted_s / sample.iteration_s));
    }
    return sum;
  }

  void SetFactors(double share) {
    for (size_t i = 0; i < logs_.size(); ++i) {
      calibration_[i].factor = std::exp(share * logs_[i]);
    }
  }

  const absl::Span<const CalibrationSample> samples_;
  Calibration calibration_;
  std::vector<double> deviations_;
  std::vector<double> logs_;
  int fold_ = kNoFold;  // Left out.
};

}  // namespace

Calibration Calibrate(absl::Span<const CalibrationSample> samples) {
  return Fit(samples).Run();
}

}  // namespace tangram
