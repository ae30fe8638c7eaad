#include "formats/config/csv_table.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

class CsvReader {
 public:
  CsvReader(absl::string_view text, absl::string_view source_name)
      : text_(text), source_name_(source_name) {}

  bool AtEnd() const { return at_ >= text_.size(); }
  int line() const { return line_; }

  // Skips a comment or blank line. Returns whether there was one.
  bool SkippedLine() {
    const char c = text_[at_];
    if (c != '#' && c != '\n' && c != '\r') return false;
    const size_t end = text_.find('\n', at_);
    at_ = end == absl::string_view::npos ? text_.size() : end + 1;
    ++line_;
    return true;
  }

  // Goes to the line after `line`, which begins at `start`.
  void SkipLineAt(size_t start, int line) {
    const size_t end = text_.find('\n', start);
    at_ = end == absl::string_view::npos ? text_.size() : end + 1;
    line_ = line + 1;
  }
  size_t at() const { return at_; }

  // Reads the cells up to the end of the line; quoted cells may hold line ends.
  absl::StatusOr<std::vector<std::string>> ReadRecord() {
    std::vector<std::string> cells;
    while (true) {
      TANGRAM_ASSIGN_OR_RETURN(std::string cell, ReadCell());
      cells.push_back(std::move(cell));
      if (!AtEnd() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (!AtEnd() && text_[at_] == '\r') ++at_;
      if (AtEnd()) return cells;
      if (text_[at_] != '\n') return Error("text after a closing quote");
      ++at_;
      ++line_;
      return cells;
    }
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(source_name_, ": line ", line_, ": ", what));
  }

 private:
  absl::StatusOr<std::string> ReadCell() {
    if (AtEnd() || text_[at_] != '"') {
      const size_t end =
          std::min(text_.find_first_of(",\r\n", at_), text_.size());
      std::string cell(text_.substr(at_, end - at_));
      at_ = end;
      return cell;
    }
    std::string cell;
    const int opened = line_;
    for (++at_; !AtEnd(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '"') {
        ++at_;
        if (AtEnd() || text_[at_] != '"') return cell;
      }
      cell.push_back(c);
    }
    line_ = opened;
    return Error("a quoted cell without its closing quote");
  }

  absl::string_view text_;
  absl::string_view source_name_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

int CsvTable::ColumnIndex(absl::string_view name) const {
  const auto it = std::find(columns.begin(), columns.end(), name);
  return it == columns.end() ? -1 : static_cast<int>(it - columns.begin());
}

absl::StatusOr<CsvTable> ParseCsv(absl::string_view text,
                                  absl::string_view source_name) {
  CsvReader reader(text, source_name);
  CsvTable table;
  while (!reader.AtEnd()) {
    if (reader.SkippedLine()) continue;
    const int line = reader.line();
    const size_t start = reader.at();
    absl::StatusOr<std::vector<std::string>> cells = reader.ReadRecord();
    if (table.columns.empty()) {
      TANGRAM_RETURN_IF_ERROR(cells.status());
      table.columns = *std::move(cells);
    } else if (!cells.ok()) {
      table.bad_rows.emplace_back(cells.status().message());
      reader.SkipLineAt(start, line);
    } else if (cells->size() != table.columns.size()) {
      table.bad_rows.emplace_back(
          FieldError(absl::StrCat(source_name, ": line ", line),
                     absl::StrCat(cells->size(), " cells"),
                     absl::StrCat(table.columns.size(), ", as in the header"))
              .message());
    } else {
      table.rows.push_back({line, *std::move(cells)});
    }
  }
  if (table.columns.empty()) return reader.Error("no header line");
  return table;
}

}  // namespace tangram
