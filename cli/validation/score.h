#ifndef TANGRAM_CLI_VALIDATION_SCORE_H_
#define TANGRAM_CLI_VALIDATION_SCORE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/predict_run.h"

namespace tangram {

// A run and its prediction.
struct PredictedRun {
  const MeasuredRun* run = nullptr;
  RunPrediction prediction;
};

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
  int falsely_fits = 0;  // Ran out of memory although predicted to fit.
};

// Quality of the predictions of a group of runs.
struct Score {
  ErrorSummary time;
  ErrorSummary memory;
  // Kendall's τ-b between predicted and measured time per token. It compares
  // runs of one model and software on one cluster, in groups of at least three;
  // mean over groups, weighted by pairs. Empty: no such group.
  std::optional<double> kendall_tau;
  FitAgreement fit;
  std::vector<const PredictedRun*> worst;  // By error of time, worst first.
};

// Scores the runs and lists at most `max_worst` of the worst.
Score ScoreRuns(absl::Span<const PredictedRun> runs, int max_worst);

// Returns Kendall's τ-b of two equally long series; 0 if all values of one tie.
double KendallTau(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_SCORE_H_
