#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/commands/commands.h"
#include "cli/files/output_files.h"
#include "cli/print/table.h"
#include "cli/validation/read_measured_runs.h"
#include "cli/validation/validate_runs.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/config/profile_file.h"
#include "formats/config/text_file.h"

namespace tangram {
namespace {

std::string Signed(double fraction) {
  return absl::StrFormat("%+.1f %%", 100 * fraction);
}

std::string ErrorCell(const ErrorSummary& errors) {
  return errors.n > 0 ? FormatPercent(errors.mean_abs) : "";
}

// Returns the number of measurements that the errors summarise.
std::string CountCell(const ErrorSummary& errors) {
  return errors.n > 0 ? absl::StrCat(errors.n) : "";
}

Table ScoreTable(const ValidationReport& report) {
  Table table({{"source"},
               {"GPUs"},
               {"n", Table::kRight},
               {"time error", Table::kRight},
               {"median", Table::kRight},
               {"bias", Table::kRight},
               {"tau", Table::kRight},
               {"published", Table::kRight},
               {"memory n", Table::kRight},
               {"error", Table::kRight},
               {"bias", Table::kRight},
               {"fits", Table::kRight}});
  // Longer names are cut: a row with the other columns stays on one line.
  constexpr size_t kSourceWidth = 36;
  for (const ValidatedGroup& group : report.groups) {
    const Score& score = group.score;
    const bool timed = score.time.n > 0;
    table.AddRow(
        {group.source.substr(0, kSourceWidth), group.gpu, CountCell(score.time),
         ErrorCell(score.time),
         timed ? FormatPercent(score.time.median_abs) : "",
         timed ? Signed(score.time.bias) : "",
         score.kendall_tau ? absl::StrFormat("%.2f", *score.kendall_tau) : "",
         ErrorCell(group.published), CountCell(score.memory),
         ErrorCell(score.memory),
         score.memory.n > 0 ? Signed(score.memory.bias) : "",
         absl::StrCat(score.fit.agree, "/", score.fit.n)});
  }
  return table;
}

void PrintCalibration(const ValidationReport& report, Console& console) {
  for (const ValidatedGroup& group : report.groups) {
    if (group.calibration.empty()) continue;
    console.out << "\nConstants of " << group.gpu << " fitted on "
                << group.calibration_rows << " rows of " << group.source
                << ", as factors of the catalogue's\n";
    for (const CalibratedConstant& constant : group.calibration) {
      console.out << absl::StrFormat("  %s.%s: %.3f\n", constant.device,
                                     ConstantName(constant.constant),
                                     constant.factor);
    }
  }
}

void PrintWorst(const ValidationReport& report, Console& console) {
  Table table({{"row"},
               {"model"},
               {"GPUs"},
               {"tp", Table::kRight},
               {"pp", Table::kRight},
               {"dp", Table::kRight},
               {"measured", Table::kRight},
               {"predicted", Table::kRight},
               {"error", Table::kRight}});
  const auto degree = [](int value) {
    return value > 0 ? absl::StrCat(value) : "";
  };
  for (const ValidatedGroup& group : report.groups) {
    for (const PredictedRun* worst : group.score.worst) {
      const MeasuredRun& run = *worst->run;
      table.AddRow(
          {run.id, run.model, absl::StrCat(run.num_gpus, " ", run.gpu),
           degree(run.tp_degree), degree(run.pp_degree), degree(run.dp_degree),
           FormatSeconds(*run.iteration_s),
           FormatSeconds(worst->prediction.iteration_s),
           Signed(worst->prediction.iteration_s / *run.iteration_s - 1)});
    }
  }
  console.out << "\nWorst rows\n" << table.ToString();
}

void PrintSkipped(const ValidationReport& report, Console& console) {
  if (report.skipped.empty()) return;
  std::map<std::string, std::vector<std::string>> rows;
  for (const SkippedRun& skipped : report.skipped) {
    rows[skipped.reason].push_back(skipped.run->id);
  }
  console.out << "\nNot predicted: "
              << FormatItems(static_cast<int64_t>(report.skipped.size()), "row")
              << "\n";
  for (const auto& [reason, ids] : rows) {
    console.out << WrapText(absl::StrCat(reason, ": ", absl::StrJoin(ids, " ")),
                            2, kOutputWidth);
  }
}

// Quotes a cell of CSV as RFC 4180 defines it.
std::string Quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  return absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
}

// Returns one line for each scored row, for spreadsheets.
std::string PredictionsCsv(const ValidationReport& report) {
  std::string csv =
      "row_id,iteration_s,predicted_s,memory_bytes,predicted_memory_bytes,"
      "fits,measured_fraction\n";
  const auto cell = [](const std::optional<double>& value) {
    return value ? absl::StrFormat("%.6g", *value) : "";
  };
  for (const ValidatedGroup& group : report.groups) {
    for (const PredictedRun& row : group.runs) {
      const RunPrediction& prediction = row.prediction;
      absl::StrAppend(
          &csv, Quoted(row.run->id), ",", cell(row.run->iteration_s), ",",
          cell(prediction.iteration_s), ",", cell(row.run->memory_bytes), ",",
          cell(prediction.memory_bytes), ",", prediction.fits ? 1 : 0, ",",
          cell(prediction.measured_fraction), "\n");
    }
  }
  return csv;
}

absl::StatusOr<std::vector<MeasuredRun>> ReadRuns(
    const std::vector<std::string>& files) {
  std::vector<MeasuredRun> runs;
  for (const std::string& file : files) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(file));
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<MeasuredRun> read,
                             ParseMeasuredRuns(text, file));
    runs.insert(runs.end(), read.begin(), read.end());
  }
  return runs;
}

}  // namespace

CommandResult Run(const ValidateOptions& options, Console& console) {
  if (!options.output_file.empty()) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<MeasuredRun> runs,
                           ReadRuns(options.files));
  ValidationOptions validation{.calibration_rows = options.calibration_rows,
                               .seed = options.seed,
                               .include_flagged = options.include_flagged,
                               .worst_rows = options.worst_rows};
  for (const std::string& file : options.profiles) {
    TANGRAM_ASSIGN_OR_RETURN(Profile profile, ReadProfileFile(file));
    validation.profiles.push_back(std::move(profile));
  }
  const ValidationReport report = ValidateRuns(runs, validation);
  if (options.markdown) {
    console.out << ScoreTable(report).ToMarkdown();
  } else {
    console.out << "Predicted against measured iteration time and memory\n"
                << ScoreTable(report).ToString();
    PrintCalibration(report, console);
    if (options.worst_rows > 0) PrintWorst(report, console);
    PrintSkipped(report, console);
  }
  if (options.output_file.empty()) return ExitCode::kOk;
  OutputFiles files;
  files.Add(options.output_file, PredictionsCsv(report));
  TANGRAM_RETURN_IF_ERROR(files.Write());
  return ExitCode::kOk;
}

}  // namespace tangram
