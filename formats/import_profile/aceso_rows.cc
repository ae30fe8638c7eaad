#include "formats/import_profile/aceso_rows.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/import_profile/import_parts.h"
#include "formats/import_profile/text_table.h"

namespace tangram {
namespace {

// The profiler writes 1e7 µs where an operator could not run.
constexpr double kDidNotRunSeconds = 9.9;
// It writes 1e6 ms or more for a collective that could not run.
constexpr double kNotMeasuredSeconds = 1000;

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// Cuts "<rest>_<key><number>": `name` becomes the rest. Returns the number.
std::optional<int> CutNumber(absl::string_view key, absl::string_view& name) {
  const size_t at = name.rfind(absl::StrCat("_", key));
  if (at == absl::string_view::npos) return std::nullopt;
  int number = 0;
  if (!absl::SimpleAtoi(name.substr(at + 1 + key.size()), &number)) {
    return std::nullopt;
  }
  name = name.substr(0, at);
  return number;
}

// Reads the shape from a name such as "gpt_1_3B_mbs1_tp2_algo0.csv".
absl::StatusOr<AcesoOperator> ShapeOfName(const ImportedFile& file) {
  absl::string_view name = BaseName(file.name);
  const bool is_csv = absl::ConsumeSuffix(&name, ".csv");
  const std::optional<int> algo = CutNumber("algo", name);
  const std::optional<int> tp = CutNumber("tp", name);
  const std::optional<int> samples = CutNumber("mbs", name);
  if (is_csv && algo && tp && samples && *tp > 0 && *samples > 0) {
    return AcesoOperator{.model = std::string(name),
                         .samples = *samples,
                         .tp = *tp,
                         .algo = *algo};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      file.name,
      ": name; expected <model>_mbs<n>_tp<n>_algo<n>.csv, or columns model, "
      "mbs, tp, algo"));
}

// Reads the shape from the columns of a row.
absl::Status ReadShape(const TextTable& table, int row, AcesoOperator& op) {
  op.gpu = table.Text(row, "gpu");
  op.dtype = table.Text(row, "dtype");
  op.model = table.Text(row, "model");
  TANGRAM_ASSIGN_OR_RETURN(op.samples, table.Count(row, "mbs"));
  TANGRAM_ASSIGN_OR_RETURN(op.tp, table.Count(row, "tp"));
  TANGRAM_ASSIGN_OR_RETURN(const double algo, table.Number(row, "algo"));
  op.algo = static_cast<int>(algo);
  return absl::OkStatus();
}

absl::Status ReadOperators(const ImportedFile& file, const TextTable& table,
                           AcesoRows& rows) {
  const bool in_ms = table.Has("fwd_ms");
  const double unit_s = in_ms ? 1e-3 : 1e-6;
  AcesoOperator op;
  if (!table.Has("mbs")) {
    TANGRAM_ASSIGN_OR_RETURN(op, ShapeOfName(file));
  }
  const auto read = [&](int row, absl::string_view column, double unit,
                        double& value) {
    TANGRAM_ASSIGN_OR_RETURN(const double number, table.Number(row, column));
    value = number * unit;
    return absl::OkStatus();
  };
  for (int row = 0; row < table.num_rows(); ++row) {
    if (table.Has("mbs")) TANGRAM_RETURN_IF_ERROR(ReadShape(table, row, op));
    op.op = table.Text(row, in_ms ? "op" : "op_name");
    TANGRAM_RETURN_IF_ERROR(
        read(row, in_ms ? "fwd_ms" : "forward-compute", unit_s, op.forward_s));
    TANGRAM_RETURN_IF_ERROR(read(row, in_ms ? "bwd_ms" : "backward-compute",
                                 unit_s, op.backward_s));
    TANGRAM_RETURN_IF_ERROR(
        read(row, in_ms ? "input_mb" : "input_size", kMiB, op.input_bytes));
    TANGRAM_RETURN_IF_ERROR(
        read(row, in_ms ? "weight_mb" : "weights", kMiB, op.weight_bytes));
    TANGRAM_RETURN_IF_ERROR(read(row, in_ms ? "activation_mb" : "activations",
                                 kMiB, op.activation_bytes));
    op.ran = op.forward_s < kDidNotRunSeconds &&
             op.backward_s < kDidNotRunSeconds && table.Text(row, "ok") != "0";
    rows.operators.push_back(op);
  }
  return absl::OkStatus();
}

std::optional<CollectiveOp> OpOf(absl::string_view name) {
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
        CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll}) {
    if (name == CollectiveName(op)) return op;
  }
  return std::nullopt;
}

void AddCollective(CollectiveOp op, int ranks, double mib, double seconds,
                   AcesoCollective collective, AcesoRows& rows) {
  const bool measured = mib > 0 && seconds > 0 && seconds < kNotMeasuredSeconds;
  if (!measured) return;
  // Aceso counts the shard that each rank contributes to an all-gather; our
  // tables count the whole result.
  const double share = op == CollectiveOp::kAllGather ? ranks : 1;
  collective.shape = {.op = op, .ranks = ranks};
  collective.point = {.bytes = mib * kMiB * share, .seconds = seconds};
  rows.collectives.push_back(std::move(collective));
}

// Reads the columns
// set,gpu,dtype,model_size,collective,num_gpus,size_mb,time_ms,ok.
absl::Status ReadGatheredCollectives(const TextTable& table, AcesoRows& rows) {
  for (int row = 0; row < table.num_rows(); ++row) {
    const std::optional<CollectiveOp> op = OpOf(table.Text(row, "collective"));
    if (!op.has_value() || table.Text(row, "ok") == "0") continue;
    TANGRAM_ASSIGN_OR_RETURN(const int ranks, table.Count(row, "num_gpus"));
    TANGRAM_ASSIGN_OR_RETURN(const double mib, table.Number(row, "size_mb"));
    TANGRAM_ASSIGN_OR_RETURN(const double ms, table.Number(row, "time_ms"));
    AddCollective(
        *op, ranks, mib, ms * 1e-3,
        {.gpu = table.Text(row, "gpu"), .dtype = table.Text(row, "dtype")},
        rows);
  }
  return absl::OkStatus();
}

// Reads a file named prim_<model>_<collective>_<n>gpus.csv.
absl::Status ReadCollectives(const ImportedFile& file, const TextTable& table,
                             AcesoRows& rows) {
  absl::string_view name = BaseName(file.name);
  int ranks = 0;
  std::optional<CollectiveOp> op;
  if (absl::ConsumeSuffix(&name, "gpus.csv")) {
    const size_t at = name.rfind('_');
    if (at != absl::string_view::npos &&
        absl::SimpleAtoi(name.substr(at + 1), &ranks)) {
      name = name.substr(0, at);
    }
  }
  for (const absl::string_view known :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    if (absl::EndsWith(name, known)) op = OpOf(known);
  }
  if (!op.has_value() || ranks < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.name, ": name; expected prim_<model>_<collective>_<n>gpus.csv"));
  }
  for (int row = 0; row < table.num_rows(); ++row) {
    TANGRAM_ASSIGN_OR_RETURN(const double mib,
                             table.Number(row, "data_size(MB)"));
    TANGRAM_ASSIGN_OR_RETURN(const double ms, table.Number(row, "time(ms)"));
    AddCollective(*op, ranks, mib, ms * 1e-3, {}, rows);
  }
  return absl::OkStatus();
}

void AddTransfer(double mib, double gib_per_s, int nodes,
                 AcesoCollective transfer, AcesoRows& rows) {
  if (!(mib > 0 && gib_per_s > 0)) return;
  transfer.shape = {
      .op = CollectiveOp::kPointToPoint, .ranks = 2, .nodes = nodes};
  transfer.point = {.bytes = mib * kMiB, .seconds = mib / (gib_per_s * 1024)};
  rows.collectives.push_back(std::move(transfer));
}

// Reads the columns set,gpu,dtype,link,size_mb,GBps.
absl::Status ReadGatheredTransfers(const TextTable& table, AcesoRows& rows) {
  for (int row = 0; row < table.num_rows(); ++row) {
    TANGRAM_ASSIGN_OR_RETURN(const double mib, table.Number(row, "size_mb"));
    TANGRAM_ASSIGN_OR_RETURN(const double rate, table.Number(row, "GBps"));
    AddTransfer(
        mib, rate, table.Text(row, "link") == "inter" ? 2 : 1,
        {.gpu = table.Text(row, "gpu"), .dtype = table.Text(row, "dtype")},
        rows);
  }
  return absl::OkStatus();
}

// Reads a line of sizes in MiB, which are the columns here, and lines of rates.
absl::Status ReadTransfers(const ImportedFile& file, const TextTable& table,
                           AcesoRows& rows) {
  const int nodes = absl::StrContains(BaseName(file.name), "inter") ? 2 : 1;
  for (int row = 0; row < table.num_rows(); ++row) {
    for (const std::string& size : table.columns()) {
      double mib = 0;
      if (!absl::SimpleAtod(size, &mib)) {
        return FieldError(file.name, size, "a size in MiB");
      }
      TANGRAM_ASSIGN_OR_RETURN(const double rate, table.Number(row, size));
      AddTransfer(mib, rate, nodes, {}, rows);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadAcesoFile(const ImportedFile& file, AcesoRows& rows) {
  TANGRAM_ASSIGN_OR_RETURN(const TextTable table,
                           TextTable::Parse(file.text, file.name));
  if (table.Has("forward-compute") || table.Has("fwd_ms")) {
    return ReadOperators(file, table, rows);
  }
  if (table.Has("collective")) return ReadGatheredCollectives(table, rows);
  if (table.Has("link")) return ReadGatheredTransfers(table, rows);
  if (table.Has("data_size(MB)")) return ReadCollectives(file, table, rows);
  if (absl::StartsWith(BaseName(file.name), "p2p_")) {
    return ReadTransfers(file, table, rows);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      file.name,
      ": columns; expected operator times (forward-compute, ...), collectives "
      "(data_size(MB), ...) or p2p_<intra|inter>_node.csv"));
}

}  // namespace tangram
