#ifndef TANGRAM_CLI_PRINT_TABLE_H_
#define TANGRAM_CLI_PRINT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tangram {

// A text table with aligned columns, two spaces apart.
//
//   Table table({{"stage", Table::kRight}, {"GPUs"}});
//   table.AddRow({"0", "t4-0:0-3"});
//   out << table.ToString();
class Table {
 public:
  enum Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = kLeft;
    // A table that is too wide loses the columns with the greatest number
    // first; those with 0 stay.
    int drop = 0;
    // Its cells are cut in the middle if the table is still too wide.
    bool is_elastic = false;
  };

  explicit Table(std::vector<Column> columns);

  // Adds a row with one cell for each column.
  void AddRow(std::vector<std::string> cells);

  // Returns the table in Markdown, with all columns.
  std::string ToMarkdown() const;

  // Returns the title line and the rows, each indented by two spaces and
  // without trailing blanks. Columns whose cells are all empty are left out.
  // The table has at most `width` columns of text, if columns may be dropped or
  // cut for that; 0: any number.
  std::string ToString(int width = 0) const;

  // Returns the titles of the columns that ToString(width) drops.
  std::vector<std::string> DroppedAt(int width) const;

 private:
  std::vector<int> WidthsAt(int width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Breaks `text` between words into lines of at most `width` characters, each
// ended by a newline. The first line is indented by `indent` spaces, the others
// by two more. Words longer than a line stay whole.
std::string WrapText(const std::string& text, int indent, int width);

// Returns "  label     text", with the text from column `column` on. It is
// wrapped as WrapText does, its further lines below its first.
std::string LabelledText(absl::string_view label, const std::string& text,
                         int column, int width);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_TABLE_H_
