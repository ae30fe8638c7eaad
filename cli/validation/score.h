#ifndef TANGRAM_CLI_VALIDATION_SCORE_H_
#define TANGRAM_CLI_VALIDATION_SCORE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/predict_run.h"
#include "common/band/residual_table.h"
#include "common/domain/prediction_band.h"

namespace tangram {

// A run and its prediction.
struct PredictedRun {
  const MeasuredRun* run = nullptr;
  RunPrediction prediction;
  PredictionTraits traits;  // Decide how far it may be off.
  PredictionBand band;      // Where the measurement was expected.
};

// Identifies runs among which a planner would choose: those of one model and
// framework on equally many GPUs.
std::string ComparableKey(const MeasuredRun& run);

// Summary of relative errors, prediction / measurement − 1.
struct ErrorSummary {
  int n = 0;              // Number of errors.
  double mean_abs = 0;    // Mean absolute value.
  double median_abs = 0;  // Median absolute value.
  double bias = 0;        // Mean of the signed errors.
};
ErrorSummary SummarizeErrors(std::vector<double> errors);

// Agreement over rows that show whether a plan fits: those that ran out of
// memory and those that finished.
struct FitAgreement {
  int n = 0;
  int agree = 0;
  int out_of_memory = 0;  // Rows that ran out of memory.
  int falsely_fits = 0;   // Predicted to fit among those.

  int ran() const { return n - out_of_memory; }
  // Rows that ran and are predicted to fit.
  int truly_fits() const { return agree - (out_of_memory - falsely_fits); }
};

// How good the bands of the predictions are.
struct BandScore {
  int n = 0;
  int inside = 0;                // Measurements inside their band.
  double median_half_width = 0;  // As a fraction of the prediction.

  double coverage() const { return n > 0 ? 1.0 * inside / n : 0; }
};

// Scores the bands of times, or of memory, over the runs that measured it.
BandScore ScoreBands(absl::Span<const PredictedRun> runs, Quantity quantity);

// Quality of the predictions of a group of runs.
struct Score {
  ErrorSummary time;
  ErrorSummary memory;
  // Kendall's τ-b between predicted and measured time per token. It compares
  // runs of one model and software on one cluster, in groups of at least three;
  // mean over groups, weighted by pairs. Empty: no such group.
  std::optional<double> kendall_tau;
  // How much longer a token takes with the plan that is predicted to be fastest
  // than with the one measured to be, as a fraction; mean over the same groups.
  std::optional<double> regret;
  FitAgreement fit;
  std::vector<const PredictedRun*> worst;  // By error of time, worst first.
};

// Scores the runs and lists at most `max_worst` of the worst.
Score ScoreRuns(absl::Span<const PredictedRun> runs, int max_worst);

// Returns Kendall's τ-b of two equally long series; 0 if all values of one tie.
double KendallTau(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_SCORE_H_
