#include "cli/validation/read_measured_runs.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/validation/text_match.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/config/csv_table.h"

namespace tangram {
namespace {

// A row with typed access by column name.
class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvTable::Row& row,
            absl::string_view source_name)
      : table_(table), row_(row), source_name_(source_name) {}

  std::string Text(absl::string_view column) const {
    const int index = table_.ColumnIndex(column);
    if (index < 0) return "";
    return std::string(absl::StripAsciiWhitespace(row_.cells[index]));
  }

  // Reads a positive integer, perhaps in thousands or with a remark: "16",
  // "250k (as printed)". 0 for a blank cell and for "mixed", which refers to
  // the per-stage plan.
  absl::StatusOr<int> Count(absl::string_view column) const {
    const std::string text = Text(column);
    if (text.empty() || text == "mixed") return 0;
    size_t digits = 0;
    while (digits < text.size() && absl::ascii_isdigit(text[digits])) ++digits;
    int stated = 0;
    const bool read = absl::SimpleAtoi(text.substr(0, digits), &stated);
    const absl::string_view rest = absl::string_view(text).substr(digits);
    const int64_t value =
        absl::StartsWith(rest, "k") ? stated * int64_t{1000} : int64_t{stated};
    const bool clean = rest.empty() || rest[0] == ' ' || rest[0] == 'k';
    if (!read || !clean || value > std::numeric_limits<int>::max()) {
      return Error(column, "a count, or nothing");
    }
    return static_cast<int>(value);
  }

  // Reads a positive number; empty for a blank cell.
  absl::StatusOr<std::optional<double>> Number(absl::string_view column) const {
    const std::string text = Text(column);
    if (text.empty()) return std::optional<double>();
    double value = 0;
    if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) ||
        value <= 0) {
      return Error(column, "a positive number, or nothing");
    }
    return std::optional<double>(value);
  }

 private:
  absl::Status Error(absl::string_view column,
                     absl::string_view expected) const {
    return FieldError(absl::StrCat(source_name_, ": line ", row_.line),
                      absl::StrCat(column, ": ", Text(column)), expected);
  }

  const CsvTable& table_;
  const CsvTable::Row& row_;
  absl::string_view source_name_;
};

absl::Status ReadCounts(const RowReader& row, MeasuredRun& run) {
  const struct {
    const char* column;
    int* value;
  } counts[] = {{"num_gpus", &run.num_gpus},
                {"gpus_per_node", &run.gpus_per_node},
                {"layers", &run.num_layers},
                {"hidden", &run.hidden_size},
                {"heads", &run.num_heads},
                {"kv_heads", &run.num_kv_heads},
                {"ffn", &run.ffn_hidden_size},
                {"vocab", &run.vocab_size},
                {"seq", &run.sequence_length},
                {"experts", &run.num_experts},
                {"topk", &run.experts_per_token},
                {"gbs", &run.global_batch_size},
                {"mbs", &run.microbatch_size},
                {"tp", &run.tp_degree},
                {"pp", &run.pp_degree},
                {"vp", &run.virtual_stages},
                {"dp", &run.dp_degree},
                {"cp", &run.cp_degree},
                {"ep", &run.ep_degree}};
  for (const auto& count : counts) {
    TANGRAM_ASSIGN_OR_RETURN(*count.value, row.Count(count.column));
  }
  return absl::OkStatus();
}

absl::Status ReadMeasurements(const RowReader& row, MeasuredRun& run) {
  TANGRAM_ASSIGN_OR_RETURN(run.iteration_s, row.Number("iteration_s"));
  if (!run.iteration_s) {
    TANGRAM_ASSIGN_OR_RETURN(run.iteration_s,
                             row.Number("iteration_s_derived"));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::optional<double> gib,
                           row.Number("mem_gib"));
  constexpr double kBytesPerGib = 1 << 30;  // GiB: 2^30 bytes.
  if (gib) run.memory_bytes = *gib * kBytesPerGib;
  TANGRAM_ASSIGN_OR_RETURN(run.published_prediction_s,
                           row.Number("predicted_s"));
  return absl::OkStatus();
}

absl::StatusOr<MeasuredRun> ReadRun(const RowReader& row) {
  MeasuredRun run{.id = row.Text("row_id"),
                  .source = row.Text("source"),
                  .framework = row.Text("framework"),
                  .gpu = row.Text("gpu"),
                  .intra_link = row.Text("intra_link"),
                  .inter_link = row.Text("inter_link"),
                  .model = row.Text("model"),
                  .zero = row.Text("zero"),
                  .recompute = row.Text("recompute"),
                  .offload = row.Text("offload"),
                  .precision = row.Text("precision"),
                  .attention = row.Text("attn_kernel"),
                  .plan_json = row.Text("plan_json"),
                  .memory_kind = row.Text("mem_kind"),
                  .flag = row.Text("flag"),
                  .notes = row.Text("notes")};
  const std::string sp = row.Text("sp");
  if (!sp.empty()) run.sequence_parallel = sp != "0";
  TANGRAM_RETURN_IF_ERROR(ReadCounts(row, run));
  TANGRAM_RETURN_IF_ERROR(ReadMeasurements(row, run));
  return run;
}

}  // namespace

bool MeasuredRun::ran_out_of_memory() const {
  return !iteration_s &&
         (absl::StrContains(flag, "OOM") || Mentions(flag, "out of memory"));
}

absl::StatusOr<MeasuredRuns> ParseMeasuredRuns(absl::string_view text,
                                               absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(CsvTable table, ParseCsv(text, source_name));
  for (const absl::string_view column : {"gpu", "num_gpus", "gbs"}) {
    if (table.ColumnIndex(column) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(source_name, ": no column \"", column,
                       "\"; expected the columns of docs/validation.md"));
    }
  }
  MeasuredRuns read{.bad_rows = std::move(table.bad_rows)};
  for (const CsvTable::Row& row : table.rows) {
    absl::StatusOr<MeasuredRun> run =
        ReadRun(RowReader(table, row, source_name));
    if (!run.ok()) {
      read.bad_rows.emplace_back(run.status().message());
      continue;
    }
    if (run->id.empty()) run->id = absl::StrCat("line ", row.line);
    if (run->source.empty()) run->source = std::string(source_name);
    read.runs.push_back(*std::move(run));
  }
  return read;
}

}  // namespace tangram
