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

  // One cell a column.
  void AddRow(std::vector<std::string> cells);

  // The same as a table in Markdown.
  std::string ToMarkdown() const;

  // Title line and rows, each indented by two spaces and without trailing
  // blanks. A column without a single filled cell is left out.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` broken between words into lines of at most `width` characters, each
// ended by a newline. The first is indented by `indent` spaces, the others by
// two more. Longer words stay whole.
std::string WrapText(const std::string& text, int indent, int width);

// Everything that is printed for people fits in this many columns.
inline constexpr int kOutputWidth = 100;

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_TABLE_H_
