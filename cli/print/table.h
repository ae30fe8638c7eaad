#ifndef TANGRAM_CLI_PRINT_TABLE_H_
#define TANGRAM_CLI_PRINT_TABLE_H_

#include <string>
#include <vector>

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
  };

  explicit Table(std::vector<Column> columns);

  // Adds a row with one cell for each column.
  void AddRow(std::vector<std::string> cells);

  // Returns the table in Markdown, with all columns.
  std::string ToMarkdown() const;

  // Returns the title line and the rows, each indented by two spaces and
  // without trailing blanks. Columns whose cells are all empty are left out.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Breaks `text` between words into lines of at most `width` characters, each
// ended by a newline. The first line is indented by `indent` spaces, the others
// by two more. Words longer than a line stay whole.
std::string WrapText(const std::string& text, int indent, int width);

// Width in columns of everything that is printed for people.
inline constexpr int kOutputWidth = 100;

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_TABLE_H_
