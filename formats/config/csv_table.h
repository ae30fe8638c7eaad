#ifndef TANGRAM_FORMATS_CONFIG_CSV_TABLE_H_
#define TANGRAM_FORMATS_CONFIG_CSV_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// A CSV text (RFC 4180). The first line that is not a '#' comment names the
// columns.
struct CsvTable {
  std::vector<std::string> columns;
  struct Row {
    int line = 0;  // First line, counted from 1.
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
  // The fault of each row that was left out: "runs.csv: line 3: 5 cells;
  // expected 7, as in the header".
  std::vector<std::string> bad_rows;

  // Returns the index of a column; −1 if there is none.
  int ColumnIndex(absl::string_view name) const;
};

// Leaves out rows that are no rows of the table. After a quote that is never
// closed, reading goes on at the next line. kInvalidArgument if there is no
// header.
absl::StatusOr<CsvTable> ParseCsv(absl::string_view text,
                                  absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_CSV_TABLE_H_
