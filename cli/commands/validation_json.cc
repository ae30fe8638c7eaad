#include "cli/commands/validation_json.h"

#include <string>
#include <vector>

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

Json ErrorsJson(const ErrorSummary& errors) {
  Json json = {{"n", errors.n}};
  if (errors.n == 0) return json;
  json["mean_error"] = errors.mean_abs;
  json["median_error"] = errors.median_abs;
  json["bias"] = errors.bias;
  return json;
}

Json FitJson(const FitAgreement& fit) {
  return {{"out_of_memory", fit.out_of_memory},
          {"out_of_memory_predicted", fit.out_of_memory - fit.falsely_fits},
          {"ran", fit.ran()},
          {"ran_predicted_to_fit", fit.truly_fits()}};
}

Json BandsJson(const BandScore& bands) {
  Json json = {{"n", bands.n}};
  if (bands.n == 0) return json;
  json["coverage"] = bands.coverage();
  json["median_half_width"] = bands.median_half_width;
  return json;
}

Json ScoreJson(const Score& score) {
  Json json = {{"time", ErrorsJson(score.time)},
               {"memory", ErrorsJson(score.memory)},
               {"fit", FitJson(score.fit)}};
  if (score.kendall_tau) json["kendall_tau"] = *score.kendall_tau;
  if (score.regret) json["regret"] = *score.regret;
  return json;
}

Json WorstJson(const Score& score) {
  Json rows = Json::array();
  for (const PredictedRun* worst : score.worst) {
    rows.push_back({{"row", worst->run->id},
                    {"model", worst->run->model},
                    {"measured_s", *worst->run->iteration_s},
                    {"predicted_s", worst->prediction.iteration_s}});
  }
  return rows;
}

Json CalibrationJson(const Calibration& calibration) {
  Json constants = Json::array();
  for (const CalibratedConstant& constant : calibration) {
    constants.push_back({{"device", constant.device},
                         {"constant", ConstantName(constant.constant)},
                         {"factor", constant.factor}});
  }
  return constants;
}

Json GroupJson(const ValidatedGroup& group) {
  Json json = {{"source", group.source}, {"gpu", group.gpu}};
  json.update(ScoreJson(group.score));
  if (group.published.n > 0) json["published"] = ErrorsJson(group.published);
  if (!group.calibration.empty()) {
    json["calibration_rows"] = group.calibration_rows;
    json["calibration"] = CalibrationJson(group.calibration);
  }
  json["worst"] = WorstJson(group.score);
  return json;
}

Json SourceJson(const ValidatedSource& source) {
  Json json = {{"source", source.source}};
  json.update(ScoreJson(source.score));
  json["time_bands"] = BandsJson(source.time_bands);
  json["memory_bands"] = BandsJson(source.memory_bands);
  return json;
}

}  // namespace

Json ValidationJson(const MeasuredRuns& read, const ValidationReport& report) {
  Json groups = Json::array();
  for (const ValidatedGroup& group : report.groups) {
    groups.push_back(GroupJson(group));
  }
  Json sources = Json::array();
  for (size_t i = 0; i + 1 < report.sources.size(); ++i) {
    sources.push_back(SourceJson(report.sources[i]));
  }
  Json all = SourceJson(report.sources.back());
  all.erase("source");
  Json repeated = Json::array();
  for (const RepeatedRun& run : report.repeated) {
    repeated.push_back({{"row", run.run->id}, {"as", run.first->id}});
  }
  Json skipped = Json::array();
  for (const SkippedRun& run : report.skipped) {
    skipped.push_back({{"row", run.run->id}, {"reason", run.reason}});
  }
  return {{"format_version", "tangram.validation/v1"},
          {"groups", groups},
          {"sources", sources},
          {"all", all},
          {"repeated", repeated},
          {"skipped", skipped},
          {"bad_rows", read.bad_rows}};
}

}  // namespace tangram
