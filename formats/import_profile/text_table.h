#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_TEXT_TABLE_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Comma-separated lines without quotes, as profilers write them. Blank lines
// and lines that begin with '#' are skipped; the first other line names the
// columns.
class TextTable {
 public:
  // kInvalidArgument "ops.csv: line 3: 5 cells; expected 7, as in line 1".
  static absl::StatusOr<TextTable> Parse(absl::string_view text,
                                         absl::string_view source_name);

  int num_rows() const { return static_cast<int>(rows_.size()); }
  bool Has(absl::string_view column) const { return IndexOf(column) >= 0; }
  const std::vector<std::string>& columns() const { return columns_; }

  // Returns a cell; empty if there is no such column.
  std::string Text(int row, absl::string_view column) const;
  // Read a cell. kInvalidArgument "ops.csv: line 3: fwd: x; expected a number"
  // unless it is a number that is not negative, and for Count() a positive
  // integer.
  absl::StatusOr<double> Number(int row, absl::string_view column) const;
  absl::StatusOr<int> Count(int row, absl::string_view column) const;

 private:
  struct Row {
    int line = 0;
    std::vector<std::string> cells;
  };

  int IndexOf(absl::string_view column) const;
  absl::Status Error(int row, absl::string_view column,
                     absl::string_view expected) const;

  std::string source_name_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_TEXT_TABLE_H_
