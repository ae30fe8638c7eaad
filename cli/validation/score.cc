#include "cli/validation/score.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"

namespace tangram {
namespace {

double TimeError(const PredictedRun& run) {
  return run.prediction.iteration_s / *run.run->iteration_s - 1;
}

// Seconds per token of the runs of one group.
struct Series {
  std::vector<double> measured;
  std::vector<double> predicted;
};

// Returns the groups of at least three runs: τ of two is 1 or -1.
std::vector<Series> SeriesOf(absl::Span<const PredictedRun> runs) {
  std::map<std::string, Series> groups;
  for (const PredictedRun& run : runs) {
    if (!run.run->iteration_s) continue;
    Series& series = groups[ComparableKey(*run.run)];
    const double tokens =
        1.0 * run.run->global_batch_size * run.run->sequence_length;
    series.measured.push_back(*run.run->iteration_s / tokens);
    series.predicted.push_back(run.prediction.iteration_s / tokens);
  }
  constexpr size_t kLeastRuns = 3;
  std::vector<Series> series;
  for (auto& [key, group] : groups) {
    if (group.measured.size() >= kLeastRuns) series.push_back(std::move(group));
  }
  return series;
}

// Mean of τ-b over groups, weighted by their n(n − 1)/2 pairs.
std::optional<double> MeanTau(absl::Span<const Series> groups) {
  double sum = 0;
  double pairs = 0;
  for (const Series& series : groups) {
    const double n = static_cast<double>(series.measured.size());
    sum += n * (n - 1) / 2 * KendallTau(series.measured, series.predicted);
    pairs += n * (n - 1) / 2;
  }
  if (pairs == 0) return std::nullopt;
  return sum / pairs;
}

std::optional<double> MeanRegret(absl::Span<const Series> groups) {
  if (groups.empty()) return std::nullopt;
  double sum = 0;
  for (const Series& series : groups) {
    const size_t chosen =
        std::min_element(series.predicted.begin(), series.predicted.end()) -
        series.predicted.begin();
    sum += series.measured[chosen] / *std::min_element(series.measured.begin(),
                                                       series.measured.end()) -
           1;
  }
  return sum / static_cast<double>(groups.size());
}

}  // namespace

std::string ComparableKey(const MeasuredRun& run) {
  return absl::StrJoin(
      {run.model, run.gpu, run.framework, run.precision,
       std::to_string(run.num_layers), std::to_string(run.hidden_size),
       std::to_string(run.num_heads), std::to_string(run.num_gpus)},
      "|");
}

BandScore ScoreBands(absl::Span<const PredictedRun> runs, Quantity quantity) {
  BandScore score;
  std::vector<double> half_widths;
  for (const PredictedRun& run : runs) {
    const bool time = quantity == Quantity::kTime;
    const std::optional<double>& measured =
        time ? run.run->iteration_s : run.run->memory_bytes;
    if (!measured) continue;
    const double ratio = *measured / (time ? run.prediction.iteration_s
                                           : run.prediction.memory_bytes);
    const Band& band = time ? run.band.time : run.band.memory;
    ++score.n;
    if (ratio >= band.low && ratio <= band.high) ++score.inside;
    half_widths.push_back(band.half_width());
  }
  if (half_widths.empty()) return score;
  const auto middle =
      half_widths.begin() + static_cast<int64_t>(half_widths.size() / 2);
  std::nth_element(half_widths.begin(), middle, half_widths.end());
  score.median_half_width = *middle;
  return score;
}

ErrorSummary SummarizeErrors(std::vector<double> errors) {
  ErrorSummary summary{.n = static_cast<int>(errors.size())};
  if (errors.empty()) return summary;
  for (double& error : errors) {
    summary.bias += error / summary.n;
    error = std::abs(error);
    summary.mean_abs += error / summary.n;
  }
  std::sort(errors.begin(), errors.end());
  const size_t half = errors.size() / 2;
  summary.median_abs = errors.size() % 2 == 1
                           ? errors[half]
                           : (errors[half - 1] + errors[half]) / 2;
  return summary;
}

// τ-b = (concordant − discordant) / sqrt(pairs untied in a · pairs untied in b)
double KendallTau(absl::Span<const double> a, absl::Span<const double> b) {
  double concordant = 0;
  double untied_a = 0;
  double untied_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double order_a = (a[i] > a[j]) - (a[i] < a[j]);
      const double order_b = (b[i] > b[j]) - (b[i] < b[j]);
      concordant += order_a * order_b;
      untied_a += order_a * order_a;
      untied_b += order_b * order_b;
    }
  }
  if (untied_a == 0 || untied_b == 0) return 0;
  return concordant / std::sqrt(untied_a * untied_b);
}

Score ScoreRuns(absl::Span<const PredictedRun> runs, int max_worst) {
  Score score;
  std::vector<double> time_errors;
  std::vector<double> memory_errors;
  for (const PredictedRun& run : runs) {
    if (run.run->iteration_s) {
      time_errors.push_back(TimeError(run));
      score.worst.push_back(&run);
    }
    if (run.run->memory_bytes) {
      memory_errors.push_back(
          run.prediction.memory_bytes / *run.run->memory_bytes - 1);
    }
    const bool out_of_memory = run.run->ran_out_of_memory();
    if (!out_of_memory && !run.run->iteration_s) continue;
    ++score.fit.n;
    if (out_of_memory) ++score.fit.out_of_memory;
    if (run.prediction.fits != out_of_memory) ++score.fit.agree;
    if (run.prediction.fits && out_of_memory) ++score.fit.falsely_fits;
  }
  score.time = SummarizeErrors(std::move(time_errors));
  score.memory = SummarizeErrors(std::move(memory_errors));
  const std::vector<Series> series = SeriesOf(runs);
  score.kendall_tau = MeanTau(series);
  score.regret = MeanRegret(series);
  std::stable_sort(score.worst.begin(), score.worst.end(),
                   [](const PredictedRun* a, const PredictedRun* b) {
                     return std::abs(TimeError(*a)) > std::abs(TimeError(*b));
                   });
  if (static_cast<int>(score.worst.size()) > max_worst) {
    score.worst.resize(max_worst);
  }
  return score;
}

}  // namespace tangram
