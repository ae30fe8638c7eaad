#include "formats/import_profile/text_table.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

std::vector<std::string> CellsOf(absl::string_view line) {
  std::vector<std::string> cells;
  for (const absl::string_view cell : absl::StrSplit(line, ',')) {
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  }
  return cells;
}

}  // namespace

absl::StatusOr<TextTable> TextTable::Parse(absl::string_view text,
                                           absl::string_view source_name) {
  TextTable table;
  table.source_name_ = std::string(source_name);
  int line_number = 0;
  int header_line = 0;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    ++line_number;
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells = CellsOf(line);
    if (table.columns_.empty()) {
      header_line = line_number;
      table.columns_ = std::move(cells);
      continue;
    }
    if (cells.size() != table.columns_.size()) {
      return FieldError(
          absl::StrCat(source_name, ": line ", line_number),
          absl::StrCat(cells.size(), " cells"),
          absl::StrCat(table.columns_.size(), ", as in line ", header_line));
    }
    table.rows_.push_back({line_number, std::move(cells)});
  }
  if (table.columns_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source_name, ": empty; expected a table"));
  }
  return table;
}

int TextTable::IndexOf(absl::string_view column) const {
  const auto it = std::find(columns_.begin(), columns_.end(), column);
  return it == columns_.end() ? -1 : static_cast<int>(it - columns_.begin());
}

std::string TextTable::Text(int row, absl::string_view column) const {
  const int index = IndexOf(column);
  return index < 0 ? "" : rows_[row].cells[index];
}

absl::Status TextTable::Error(int row, absl::string_view column,
                              absl::string_view expected) const {
  return FieldError(
      absl::StrCat(source_name_, ": line ", rows_[row].line),
      absl::StrCat(column, ": ", absl::Utf8SafeCEscape(Text(row, column))),
      expected);
}

absl::StatusOr<double> TextTable::Number(int row,
                                         absl::string_view column) const {
  double value = 0;
  if (absl::SimpleAtod(Text(row, column), &value) && std::isfinite(value) &&
      value >= 0) {
    return value;
  }
  return Error(row, column, "a number from 0 on");
}

absl::StatusOr<int> TextTable::Count(int row, absl::string_view column) const {
  int value = 0;
  if (absl::SimpleAtoi(Text(row, column), &value) && value > 0) return value;
  return Error(row, column, "a positive integer");
}

}  // namespace tangram
