#include "cli/validation/validate_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/validation/express_run.h"
#include "cli/validation/predict_run.h"
#include "common/base/fingerprint.h"

namespace tangram {
namespace {

struct Expressed {
  const MeasuredRun* run = nullptr;
  ExpressedRun expressed;
};

struct Group {
  std::string source;
  std::string gpu;
  std::vector<Expressed> rows;
};

Group& GroupFor(const MeasuredRun& run, std::vector<Group>& groups) {
  for (Group& group : groups) {
    if (group.source == run.source && group.gpu == run.gpu) return group;
  }
  return groups.emplace_back(Group{.source = run.source, .gpu = run.gpu});
}

// Chooses rows with a time, in an order that depends on the seed only: at most
// `count`, and never all.
std::vector<size_t> ChooseRows(const Group& group, int count, uint64_t seed) {
  std::vector<std::pair<Fingerprint, size_t>> order;
  for (size_t i = 0; i < group.rows.size(); ++i) {
    const MeasuredRun& run = *group.rows[i].run;
    if (!run.iteration_s) continue;
    order.push_back({Fingerprinter().Add(seed).Add(run.id).Finish(), i});
  }
  std::sort(order.begin(), order.end());
  const size_t limit = std::min<size_t>(count, order.size() / 2);
  std::vector<size_t> rows;
  for (size_t i = 0; i < limit; ++i) rows.push_back(order[i].second);
  return rows;
}

ErrorSummary PublishedErrors(absl::Span<const PredictedRun> runs) {
  std::vector<double> errors;
  for (const PredictedRun& run : runs) {
    if (!run.run->iteration_s || !run.run->published_prediction_s) continue;
    errors.push_back(*run.run->published_prediction_s / *run.run->iteration_s -
                     1);
  }
  return SummarizeErrors(std::move(errors));
}

// Takes the model from a profile of the same name, since the profiled
// dimensions are those that ran.
void TakeModelOf(const Profile& profile, const MeasuredRun& run,
                 ExpressedRun& expressed) {
  for (const ModelSpec& model : profile.models) {
    if (absl::EqualsIgnoreCase(model.name, run.model) &&
        model.num_layers() == expressed.model.num_layers()) {
      expressed.model = model;
    }
  }
}

class Validation {
 public:
  explicit Validation(const ValidationOptions& options) : options_(options) {}

  void Add(const MeasuredRun& run) {
    const bool usable =
        run.iteration_s || run.memory_bytes || run.ran_out_of_memory();
    if (!usable) return Skip(run, "no time and no memory measured");
    if (!run.flag.empty() && !options_.include_flagged &&
        !run.ran_out_of_memory()) {
      return Skip(run, absl::StrCat("flagged: ", run.flag));
    }
    absl::StatusOr<ExpressedRun> expressed = ExpressRun(run, options_.profiles);
    if (!expressed.ok()) {
      return Skip(run, std::string(expressed.status().message()));
    }
    for (const Profile& profile : options_.profiles) {
      TakeModelOf(profile, run, *expressed);
    }
    GroupFor(run, groups_).rows.push_back({&run, *std::move(expressed)});
  }

  ValidationReport Finish() {
    for (Group& group : groups_) report_.groups.push_back(Validate(group));
    return std::move(report_);
  }

 private:
  void Skip(const MeasuredRun& run, std::string reason) {
    report_.skipped.push_back({&run, std::move(reason)});
  }

  ValidatedGroup Validate(Group& group) {
    ValidatedGroup result{.source = group.source, .gpu = group.gpu};
    const std::vector<size_t> chosen =
        ChooseRows(group, options_.calibration_rows, options_.seed);
    if (!chosen.empty()) {
      std::vector<CalibrationSample> samples;
      for (const size_t i : chosen) {
        samples.push_back(
            {&group.rows[i].expressed, *group.rows[i].run->iteration_s});
      }
      result.calibration = Calibrate(samples);
      result.calibration_rows = static_cast<int>(chosen.size());
    }
    for (size_t i = 0; i < group.rows.size(); ++i) {
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      Expressed& row = group.rows[i];
      ApplyCalibration(result.calibration, row.expressed.cluster);
      const absl::StatusOr<RunPrediction> prediction =
          PredictRun(*row.run, row.expressed);
      if (!prediction.ok()) {
        Skip(*row.run, std::string(prediction.status().message()));
        continue;
      }
      result.runs.push_back({row.run, *prediction});
    }
    result.score = ScoreRuns(result.runs, options_.worst_rows);
    result.published = PublishedErrors(result.runs);
    return result;
  }

  const ValidationOptions& options_;
  std::vector<Group> groups_;
  ValidationReport report_;
};

}  // namespace

ValidationReport ValidateRuns(absl::Span<const MeasuredRun> runs,
                              const ValidationOptions& options) {
  Validation validation(options);
  for (const MeasuredRun& run : runs) validation.Add(run);
  return validation.Finish();
}

}  // namespace tangram
