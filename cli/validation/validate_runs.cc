#include "cli/validation/validate_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/validation/express_run.h"
#include "cli/validation/predict_run.h"
#include "cli/validation/repeated_rows.h"
#include "cli/validation/residuals.h"
#include "common/band/margin_of_kind.h"
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

// Most samples that constants are fitted to. A fit evaluates each of them
// several hundred times, and more of them hardly move nine constants.
constexpr size_t kMostSamples = 512;

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
  const size_t limit =
      std::min({static_cast<size_t>(count), order.size() / 2, kMostSamples});
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

// The GPU types of a run's cluster.
std::set<std::string> TypesOf(const ExpressedRun& run) {
  std::set<std::string> types;
  for (const Node& node : run.cluster.nodes) types.insert(node.device.type);
  return types;
}

class Validation {
 public:
  explicit Validation(const ValidationOptions& options)
      : options_(options), generations_(CatalogueGenerations()) {}

  void Add(const MeasuredRun& run) {
    if (const MeasuredRun* first = repeated_.FindOrAdd(run)) {
      report_.repeated.push_back({&run, first});
    }
    const bool usable =
        run.iteration_s || run.memory_bytes || run.ran_out_of_memory();
    if (!usable) return Skip(run, "no time and no memory measured");
    if (!run.flag.empty() && !options_.include_flagged &&
        !run.ran_out_of_memory()) {
      return Skip(run, absl::StrCat("flagged: ", run.flag));
    }
    absl::StatusOr<ExpressedRun> expressed =
        ExpressRun(run, options_.profiles, options_.devices);
    if (!expressed.ok()) {
      return Skip(run, std::string(expressed.status().message()));
    }
    for (const Profile& profile : options_.profiles) {
      TakeModelOf(profile, run, *expressed);
    }
    GroupFor(run, groups_).rows.push_back({&run, *std::move(expressed)});
  }

  ValidationReport Finish() {
    for (const Group& group : groups_) {
      report_.groups.push_back(Predict(group));
    }
    // Groups no longer move, so that pointers to their rows are valid.
    std::vector<const PredictedRun*> all;
    for (const ValidatedGroup& group : report_.groups) {
      for (const PredictedRun& run : group.runs) all.push_back(&run);
    }
    report_.residuals = generations_;
    AddResiduals(all, "", report_.residuals);
    ChooseTails(report_.residuals);
    for (ValidatedGroup& group : report_.groups) {
      SetBands(all, group);
      group.score = ScoreRuns(group.runs, options_.worst_rows);
      group.published = PublishedErrors(group.runs);
    }
    ScoreSources();
    return std::move(report_);
  }

 private:
  void Skip(const MeasuredRun& run, std::string reason) {
    report_.skipped.push_back({&run, std::move(reason)});
  }

  static void AddSamples(const Group& group, absl::Span<const size_t> chosen,
                         std::vector<CalibrationSample>& samples) {
    for (const size_t i : chosen) {
      if (samples.size() >= kMostSamples) return;
      samples.push_back(
          {&group.rows[i].expressed, *group.rows[i].run->iteration_s});
    }
  }

  // Returns constants fitted to other sources on GPU types of the group.
  Calibration CalibrateElsewhere(const Group& group) const {
    std::set<std::string> types;
    for (const Expressed& row : group.rows) types.merge(TypesOf(row.expressed));
    std::vector<CalibrationSample> samples;
    for (const Group& other : groups_) {
      if (other.source == group.source) continue;
      const std::set<std::string> others =
          TypesOf(other.rows.front().expressed);
      if (!std::includes(types.begin(), types.end(), others.begin(),
                         others.end())) {
        continue;
      }
      AddSamples(other,
                 ChooseRows(other, options_.calibration_rows, options_.seed),
                 samples);
    }
    return samples.empty() ? Calibration() : Calibrate(samples);
  }

  // Predicts the rows of a group to which nothing was fitted.
  ValidatedGroup Predict(const Group& group) {
    ValidatedGroup result{.source = group.source, .gpu = group.gpu};
    std::vector<bool> fitted(group.rows.size());
    if (options_.leave_one_source_out) {
      if (options_.calibration_rows > 0) {
        result.calibration = CalibrateElsewhere(group);
      }
    } else {
      const std::vector<size_t> chosen =
          ChooseRows(group, options_.calibration_rows, options_.seed);
      for (const size_t i : chosen) fitted[i] = true;
      result.calibration_rows = static_cast<int>(chosen.size());
      std::vector<CalibrationSample> samples;
      AddSamples(group, chosen, samples);
      if (!samples.empty()) result.calibration = Calibrate(samples);
    }
    for (size_t i = 0; i < group.rows.size(); ++i) {
      if (!fitted[i]) PredictRow(group.rows[i], result);
    }
    return result;
  }

  void PredictRow(const Expressed& row, ValidatedGroup& group) {
    ExpressedRun calibrated = row.expressed;
    ApplyCalibration(group.calibration, calibrated.cluster);
    const absl::StatusOr<RunPrediction> prediction =
        PredictRun(*row.run, calibrated);
    if (!prediction.ok()) {
      return Skip(*row.run, std::string(prediction.status().message()));
    }
    group.runs.push_back(
        {.run = row.run,
         .prediction = *prediction,
         .traits = TraitsOfRun(generations_, *row.run, calibrated)});
  }

  // Sets bands, and whether runs leave the margin free. Bands of the shipped
  // table know these sources, and those that leave the source out do not.
  void SetBands(absl::Span<const PredictedRun* const> all,
                ValidatedGroup& group) const {
    ResidualTable others = generations_;
    others.tails = report_.residuals.tails;
    if (options_.leave_one_source_out) {
      AddResiduals(all, group.source, others);
    }
    const ResidualTable& table =
        options_.leave_one_source_out ? others : ShippedResiduals();
    struct OfKind {
      PredictionBand band;
      double margin = 0;
    };
    std::map<PredictionTraits, OfKind> known;
    for (PredictedRun& run : group.runs) {
      const auto [it, added] = known.try_emplace(run.traits);
      OfKind& kind = it->second;
      if (added) {
        kind.band = BandsOf(table, run.traits);
        kind.margin = options_.memory_margin.has_value()
                          ? *options_.memory_margin
                          : MemoryMarginOf(table, run.traits.framework);
      }
      run.band = kind.band;
      RunPrediction& prediction = run.prediction;
      if (prediction.filled > 1 - kind.margin) prediction.fits = false;
    }
  }

  void ScoreSources() {
    std::vector<std::string> names;
    std::map<std::string, std::vector<PredictedRun>> runs;
    std::vector<PredictedRun> all;
    for (const ValidatedGroup& group : report_.groups) {
      if (!runs.contains(group.source)) names.push_back(group.source);
      std::vector<PredictedRun>& of_source = runs[group.source];
      of_source.insert(of_source.end(), group.runs.begin(), group.runs.end());
      all.insert(all.end(), group.runs.begin(), group.runs.end());
    }
    for (const std::string& name : names) AddSource(name, runs[name]);
    AddSource("all", all);
    report_.sources.back().score.kendall_tau.reset();
    report_.sources.back().score.regret.reset();
  }

  void AddSource(const std::string& name, absl::Span<const PredictedRun> runs) {
    report_.sources.push_back(
        {.source = name,
         .score = ScoreRuns(runs, /*max_worst=*/0),
         .time_bands = ScoreBands(runs, Quantity::kTime),
         .memory_bands = ScoreBands(runs, Quantity::kMemory)});
  }

  const ValidationOptions& options_;
  const ResidualTable generations_;
  RepeatedRows repeated_;
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
