#ifndef TANGRAM_CLI_VALIDATION_SCORE_H_
#define TANGRAM_CLI_VALIDATION_SCORE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/predict_run.h"

namespace tangram {

// A run with what was predicted for it.
struct PredictedRun {
  const MeasuredRun* run = nullptr;
  RunPrediction prediction;
};

// Signed relative errors, prediction / measurement − 1.
struct ErrorSummary {
  int n = 0;
  double mean_abs = 0;
  double median_abs = 0;
  double bias = 0;  // Mean.
};
ErrorSummary SummarizeErrors(std::vector<double> errors);

// Of the rows that tell whether a plan fits: those that ran out of memory and
// those that finished.
struct FitAgreement {
  int n = 0;
  int agree = 0;
  int falsely_fits = 0;  // Ran out of memory, predicted to fit.
};

struct Score {
  ErrorSummary time;
  ErrorSummary memory;
  // Kendall's τ-b between predicted and measured times of a token, within
  // groups of at least three runs of one model and software on one cluster;
  // mean over groups, weighted by pairs. Empty: no such group.
  std::optional<double> kendall_tau;
  FitAgreement fit;
  std::vector<const PredictedRun*> worst;  // By time, worst first.
};

// `max_worst`: how many of the worst rows to list.
Score ScoreRuns(absl::Span<const PredictedRun> runs, int max_worst);

// Kendall's τ-b of two equally long series; 0 where all values of one tie.
double KendallTau(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_SCORE_H_
