#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/commands/commands.h"
#include "cli/commands/validation_json.h"
#include "cli/files/output_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/table.h"
#include "cli/validation/read_measured_runs.h"
#include "cli/validation/validate_runs.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/config/calibrated_constants.h"
#include "formats/config/cluster_file.h"
#include "formats/config/device_list.h"
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

std::string TauCell(const Score& score) {
  return score.kendall_tau ? absl::StrFormat("%.2f", *score.kendall_tau) : "";
}

std::string RegretCell(const Score& score) {
  return score.regret ? FormatPercent(*score.regret) : "";
}

// Longer names are cut: a row with the other columns stays on one line.
std::string SourceCell(const std::string& source) {
  constexpr size_t kSourceWidth = 36;
  return source.substr(0, kSourceWidth);
}

Table ScoreTable(const ValidationReport& report) {
  Table table({{"source"},
               {"GPUs"},
               {"n", Table::kRight},
               {"time error", Table::kRight},
               {"median", Table::kRight},
               {"bias", Table::kRight},
               {"tau", Table::kRight},
               {"regret", Table::kRight},
               {"published", Table::kRight},
               {"memory n", Table::kRight},
               {"error", Table::kRight},
               {"bias", Table::kRight},
               {"fits", Table::kRight}});
  for (const ValidatedGroup& group : report.groups) {
    const Score& score = group.score;
    const bool timed = score.time.n > 0;
    table.AddRow({SourceCell(group.source), group.gpu, CountCell(score.time),
                  ErrorCell(score.time),
                  timed ? FormatPercent(score.time.median_abs) : "",
                  timed ? Signed(score.time.bias) : "", TauCell(score),
                  RegretCell(score), ErrorCell(group.published),
                  CountCell(score.memory), ErrorCell(score.memory),
                  score.memory.n > 0 ? Signed(score.memory.bias) : "",
                  absl::StrCat(score.fit.agree, "/", score.fit.n)});
  }
  return table;
}

std::string InsideCell(const BandScore& bands) {
  return bands.n > 0 ? FormatPercent(bands.coverage()) : "";
}

std::string WidthCell(const BandScore& bands) {
  return bands.n > 0 ? absl::StrCat("±", FormatPercent(bands.median_half_width))
                     : "";
}

// Scores of whole sources and of their bands.
Table SourceTable(const ValidationReport& report) {
  Table table({{"source"},
               {"n", Table::kRight},
               {"time error", Table::kRight},
               {"bias", Table::kRight},
               {"tau", Table::kRight},
               {"regret", Table::kRight},
               {"in band", Table::kRight},
               {"band", Table::kRight},
               {"memory n", Table::kRight},
               {"error", Table::kRight},
               {"in band", Table::kRight},
               {"band", Table::kRight}});
  for (const ValidatedSource& source : report.sources) {
    const Score& score = source.score;
    table.AddRow(
        {SourceCell(source.source), CountCell(score.time),
         ErrorCell(score.time), score.time.n > 0 ? Signed(score.time.bias) : "",
         TauCell(score), RegretCell(score), InsideCell(source.time_bands),
         WidthCell(source.time_bands), CountCell(score.memory),
         ErrorCell(score.memory), InsideCell(source.memory_bands),
         WidthCell(source.memory_bands)});
  }
  return table;
}

// Prints what the table cannot show: whether plans fit, how the sources do on
// average, and how good the bands are.
void PrintSummary(const ValidationReport& report, Console& console) {
  const ValidatedSource& all = report.sources.back();
  const FitAgreement& fit = all.score.fit;
  console.out << "\n";
  if (fit.out_of_memory > 0) {
    const int found = fit.out_of_memory - fit.falsely_fits;
    console.out << absl::StrFormat(
        "Out of memory: %d of %d such runs predicted (%s)\n", found,
        fit.out_of_memory, FormatPercent(1.0 * found / fit.out_of_memory));
  }
  if (fit.ran() > 0) {
    console.out << absl::StrFormat(
        "Ran: %d of %d such runs predicted to fit (%s)\n", fit.truly_fits(),
        fit.ran(), FormatPercent(1.0 * fit.truly_fits() / fit.ran()));
  }
  const auto print_bands = [&console](const char* what,
                                      const BandScore& bands) {
    if (bands.n == 0) return;
    console.out << absl::StrFormat(
        "%s: %s in their band of %s, ±%s in the median\n", what,
        FormatPercent(bands.coverage()), FormatPercent(kBandCoverage),
        FormatPercent(bands.median_half_width));
  };
  print_bands("Times", all.time_bands);
  print_bands("Memory", all.memory_bands);
  double error = 0;
  double bias = 0;
  double worst = 0;
  int timed = 0;
  for (const ValidatedSource& source : report.sources) {
    if (&source == &all || source.score.time.n == 0) continue;
    ++timed;
    error += source.score.time.mean_abs;
    bias += source.score.time.bias;
    worst = std::max(worst, source.score.time.mean_abs);
  }
  if (timed < 2) return;
  console.out << absl::StrFormat(
      "Mean of %d sources: error %s, bias %s; the worst source has %s\n", timed,
      FormatPercent(error / timed), Signed(bias / timed), FormatPercent(worst));
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

// Rows that the reader left out are named on standard error: something is wrong
// with the file.
void PrintBadRows(const std::vector<std::string>& bad_rows, Console& console) {
  // A file of another kind has a message for each line.
  constexpr size_t kMostShown = 100;
  for (size_t i = 0; i < std::min(bad_rows.size(), kMostShown); ++i) {
    console.err << "tangram: " << bad_rows[i] << "; row skipped\n";
  }
  if (bad_rows.size() > kMostShown) {
    console.err << "tangram: and " << bad_rows.size() - kMostShown << " more\n";
  }
}

void PrintRepeated(const ValidationReport& report, Console& console) {
  if (report.repeated.empty()) return;
  std::vector<std::string> pairs;
  for (const RepeatedRun& repeated : report.repeated) {
    pairs.push_back(absl::StrCat(repeated.run->id, " as ", repeated.first->id));
  }
  console.out << "\nThe same but for the name, and scored: "
              << FormatItems(static_cast<int64_t>(pairs.size()), "row") << "\n"
              << WrapText(absl::StrJoin(pairs, ", "), 2, console.width);
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
                            2, console.width);
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
      "fits,measured_fraction,band_low_s,band_high_s,band_low_bytes,"
      "band_high_bytes\n";
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
          cell(prediction.measured_fraction));
      for (const auto& [value, band] :
           {std::pair{prediction.iteration_s, row.band.time},
            std::pair{prediction.memory_bytes, row.band.memory}}) {
        absl::StrAppend(&csv, ",", cell(value * band.low), ",",
                        cell(value * band.high));
      }
      csv += "\n";
    }
  }
  return csv;
}

absl::StatusOr<MeasuredRuns> ReadRuns(const std::vector<std::string>& files) {
  MeasuredRuns all;
  for (const std::string& file : files) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::string text,
        ReadTextFile(file, std::numeric_limits<int64_t>::max()));
    TANGRAM_ASSIGN_OR_RETURN(MeasuredRuns read, ParseMeasuredRuns(text, file));
    std::move(read.runs.begin(), read.runs.end(), std::back_inserter(all.runs));
    std::move(read.bad_rows.begin(), read.bad_rows.end(),
              std::back_inserter(all.bad_rows));
  }
  return all;
}

// Fails if no row could be scored: then the command has no answer.
absl::Status CheckScored(const ValidationReport& report,
                         const MeasuredRuns& read) {
  for (const ValidatedGroup& group : report.groups) {
    if (!group.runs.empty()) return absl::OkStatus();
  }
  const size_t rows = read.bad_rows.size() + report.skipped.size();
  const std::string first =
      !read.bad_rows.empty() ? read.bad_rows.front()
      : !report.skipped.empty()
          ? absl::StrCat(report.skipped.front().run->id, ": ",
                         report.skipped.front().reason)
          : "the files have no rows";
  return absl::InvalidArgumentError(absl::StrCat(
      "no row could be scored of ",
      FormatItems(static_cast<int64_t>(rows), "row"), ": ", first));
}

// Returns the first group of each GPU type as an entry of a catalogue.
std::vector<CatalogueDevice> DevicesOf(const Cluster& cluster) {
  std::vector<CatalogueDevice> devices;
  std::set<std::string> types;
  for (const Node& node : cluster.nodes) {
    if (!types.insert(node.device.type).second) continue;
    devices.push_back({.device = node.device,
                       .gpus_per_node = node.num_gpus,
                       .intra_node = node.intra_node,
                       .inter_node = cluster.links[node.group][node.group]});
  }
  return devices;
}

bool IsYaml(const std::string& file) {
  return absl::EndsWith(file, ".yaml") || absl::EndsWith(file, ".yml");
}

// Returns the fitted constants of all groups as a file.
absl::StatusOr<std::string> ConstantsYaml(const ValidationReport& report) {
  Calibration all;
  for (const ValidatedGroup& group : report.groups) {
    all.insert(all.end(), group.calibration.begin(), group.calibration.end());
  }
  if (all.empty()) {
    return absl::InvalidArgumentError(
        "--output: constants without any fitted; expected --calibrate with it");
  }
  return FormatConstants(all);
}

absl::StatusOr<ValidationOptions> ValidationOptionsOf(
    const ValidateOptions& options) {
  ValidationOptions validation{
      .calibration_rows = options.calibration_rows,
      .seed = options.seed,
      .include_flagged = options.include_flagged,
      .worst_rows = options.worst_rows,
      .leave_one_source_out = options.leave_one_source_out,
      .memory_margin = options.memory_margin};
  if (!options.cluster_file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(const Cluster cluster,
                             LoadClusterFile(options.cluster_file));
    validation.devices = DevicesOf(cluster);
  }
  for (const std::string& file : options.profiles) {
    TANGRAM_ASSIGN_OR_RETURN(Profile profile, ReadProfileFile(file));
    validation.profiles.push_back(std::move(profile));
  }
  return validation;
}

void PrintReport(const ValidateOptions& options, const MeasuredRuns& read,
                 const ValidationReport& report, Console& console) {
  if (console.format == OutputFormat::kJson) {
    PrintJson(ValidationJson(read, report), console);
    return;
  }
  if (options.markdown) {
    console.out << (options.leave_one_source_out ? SourceTable(report)
                                                 : ScoreTable(report))
                       .ToMarkdown();
    return;
  }
  if (options.leave_one_source_out) {
    console.out << "Each source predicted without it\n"
                << SourceTable(report).ToString();
  } else {
    console.out << "Predicted against measured iteration time and memory\n"
                << ScoreTable(report).ToString();
  }
  PrintSummary(report, console);
  PrintCalibration(report, console);
  if (options.worst_rows > 0) PrintWorst(report, console);
  PrintRepeated(report, console);
  PrintSkipped(report, console);
  if (!read.bad_rows.empty()) {
    console.out << "\nSkipped for a bad cell: "
                << FormatItems(static_cast<int64_t>(read.bad_rows.size()),
                               "row")
                << "\n";
  }
}

}  // namespace

CommandResult Run(const ValidateOptions& options, Console& console) {
  for (const std::string& file :
       {options.output_file, options.residuals_file}) {
    if (!file.empty()) TANGRAM_RETURN_IF_ERROR(CheckWritable(file));
  }
  TANGRAM_ASSIGN_OR_RETURN(const MeasuredRuns read, ReadRuns(options.files));
  TANGRAM_ASSIGN_OR_RETURN(const ValidationOptions validation,
                           ValidationOptionsOf(options));
  const ValidationReport report = ValidateRuns(read.runs, validation);
  TANGRAM_RETURN_IF_ERROR(CheckScored(report, read));
  if (console.format == OutputFormat::kText) {
    PrintBadRows(read.bad_rows, console);
  }
  PrintReport(options, read, report, console);
  OutputFiles files;
  if (!options.output_file.empty()) {
    std::string content = PredictionsCsv(report);
    if (IsYaml(options.output_file)) {
      TANGRAM_ASSIGN_OR_RETURN(content, ConstantsYaml(report));
    }
    files.Add(options.output_file, std::move(content));
  }
  if (!options.residuals_file.empty()) {
    files.Add(options.residuals_file, FormatResiduals(report.residuals));
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  return ExitCode::kOk;
}

}  // namespace tangram
