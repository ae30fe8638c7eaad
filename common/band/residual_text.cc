#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/band/residual_table.h"

namespace tangram {
namespace {

constexpr char kDevice[] = "device";
constexpr char kTail[] = "tail";
constexpr size_t kShortCells = 3;  // device,A100-80,ampere; tail,time,0.03
// time,source,ampere,Megatron-Core,dense,narrow,fast,1,12,0.9 1.1
constexpr size_t kResidualCells = 10;

constexpr char kExperts[] = "experts";
constexpr char kDense[] = "dense";
constexpr char kWide[] = "wide";
constexpr char kNarrow[] = "narrow";
constexpr char kFast[] = "fast";
constexpr char kSlow[] = "slow";

bool ParseQuantity(absl::string_view name, Quantity& quantity) {
  for (int i = 0; i < kNumQuantities; ++i) {
    quantity = static_cast<Quantity>(i);
    if (name == QuantityName(quantity)) return true;
  }
  return false;
}

// Reads a choice of two words.
bool ParseEither(absl::string_view word, absl::string_view yes,
                 absl::string_view no, bool& value) {
  value = word == yes;
  return value || word == no;
}

bool ParseTail(const std::vector<std::string>& cells, ResidualTable& table) {
  Quantity quantity;
  double tail = 0;
  if (cells.size() != kShortCells || !ParseQuantity(cells[1], quantity) ||
      !absl::SimpleAtod(cells[2], &tail) || !(tail >= 0) || tail >= 0.5) {
    return false;
  }
  table.tails[static_cast<size_t>(quantity)] = tail;
  return true;
}

bool ParseCell(const std::vector<std::string>& cells, ResidualCell& cell) {
  if (cells.size() != kResidualCells || !ParseQuantity(cells[0], cell.quantity))
    return false;
  cell.source = cells[1];
  cell.traits.generation = cells[2];
  cell.traits.framework = cells[3];
  if (!ParseEither(cells[4], kExperts, kDense, cell.traits.experts) ||
      !ParseEither(cells[5], kWide, kNarrow, cell.traits.wide) ||
      !ParseEither(cells[6], kFast, kSlow, cell.traits.fast_fabric) ||
      !absl::SimpleAtoi(cells[7], &cell.traits.scale) ||
      !absl::SimpleAtoi(cells[8], &cell.rows) || cell.rows <= 0) {
    return false;
  }
  for (const absl::string_view text : absl::StrSplit(cells[9], ' ')) {
    double ratio = 0;
    if (!absl::SimpleAtod(text, &ratio) || !(ratio > 0)) return false;
    if (!cell.ratios.empty() && ratio < cell.ratios.back()) return false;
    cell.ratios.push_back(ratio);
  }
  return true;
}

}  // namespace

std::string FormatResiduals(const ResidualTable& table) {
  std::string text =
      "# Residuals of published training runs, measured / predicted at "
      "equally\n"
      "# spaced quantiles, by what they depend on: the bands of predictions "
      "are\n"
      "# made of these. Made by `scripts/bands`; docs/accuracy.md has the "
      "method.\n"
      "# "
      "quantity,source,generation,framework,model,tp,fabric,scale,rows,"
      "ratios\n";
  for (const ResidualCell& cell : table.cells) {
    const PredictionTraits& traits = cell.traits;
    absl::StrAppend(
        &text, QuantityName(cell.quantity), ",",
        // Cells have no quotes, so that a table is read by splitting lines.
        absl::StrReplaceAll(cell.source, {{",", ";"}, {"\"", "'"}}), ",",
        traits.generation, ",", traits.framework, ",",
        traits.experts ? kExperts : kDense, ",", traits.wide ? kWide : kNarrow,
        ",", traits.fast_fabric ? kFast : kSlow, ",", traits.scale, ",",
        cell.rows, ",",
        absl::StrJoin(cell.ratios, " ",
                      [](std::string* out, double ratio) {
                        absl::StrAppendFormat(out, "%.3f", ratio);
                      }),
        "\n");
  }
  text += "# tail,quantity,share of runs on either side of a band\n";
  for (int i = 0; i < kNumQuantities; ++i) {
    absl::StrAppendFormat(&text, "%s,%s,%.3f\n", kTail,
                          QuantityName(static_cast<Quantity>(i)),
                          table.tails[static_cast<size_t>(i)]);
  }
  text += "# device,GPU type,generation\n";
  for (const auto& [type, generation] : table.generations) {
    absl::StrAppend(&text, kDevice, ",", type, ",", generation, "\n");
  }
  return text;
}

absl::StatusOr<ResidualTable> ParseResiduals(absl::string_view text) {
  ResidualTable table;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    if (cells[0] == kDevice && cells.size() == kShortCells) {
      table.generations[cells[1]] = cells[2];
      continue;
    }
    if (cells[0] == kTail && ParseTail(cells, table)) continue;
    ResidualCell cell;
    if (!ParseCell(cells, cell)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", line,
                       "; expected quantity, source, generation, framework, "
                       "model, tp, fabric, scale, rows and ascending ratios"));
    }
    table.cells.push_back(std::move(cell));
  }
  return table;
}

}  // namespace tangram
