#include "cli/print/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/check.h"
#include "common/base/printable_text.h"

namespace tangram {
namespace {

// Spaces in front of a table and between its columns. One space stands between
// the words of a cell.
constexpr int kIndent = 2;
constexpr int kGap = 2;

// Returns the number of code points, so that "µs" is two columns wide. Counts
// every byte that does not continue a UTF-8 sequence (10xxxxxx).
int DisplayWidth(absl::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void AppendCell(absl::string_view text, Table::Align align, int width,
                std::string& line) {
  const std::string padding(width - DisplayWidth(text), ' ');
  if (align == Table::kRight) line += padding;
  line.append(text.data(), text.size());
  if (align == Table::kLeft) line += padding;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  TANGRAM_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = EscapedControls(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::ToMarkdown() const {
  std::string text = "|";
  for (const Column& column : columns_) text += " " + column.title + " |";
  text += "\n|";
  for (const Column& column : columns_) {
    text += column.align == kRight ? " ---: |" : " --- |";
  }
  text += "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const std::string& cell : row) text += " " + cell + " |";
    text += "\n";
  }
  return text;
}

std::string Table::ToString() const {
  std::vector<int> widths(columns_.size(), 0);
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
    if (widths[c] > 0) {
      widths[c] = std::max(widths[c], DisplayWidth(columns_[c].title));
    }
  }

  std::string text;
  const auto append_line = [&](const auto& cell) {
    std::string line(kIndent, ' ');
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) continue;
      AppendCell(cell(c), columns_[c].align, widths[c], line);
      line.append(kGap, ' ');
    }
    absl::StripTrailingAsciiWhitespace(&line);
    text += line + '\n';
  };
  append_line([&](size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) append_line([&](size_t c) { return row[c]; });
  return text;
}

std::string WrapText(const std::string& text, int indent, int width) {
  const std::string shown = EscapedControls(text);
  std::string wrapped;
  std::string line(indent, ' ');
  bool line_has_words = false;
  for (absl::string_view word :
       absl::StrSplit(shown, ' ', absl::SkipWhitespace())) {
    if (line_has_words && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      wrapped += line + '\n';
      line.assign(indent + kIndent, ' ');
      line_has_words = false;
    }
    if (line_has_words) line += ' ';
    line.append(word.data(), word.size());
    line_has_words = true;
  }
  return line_has_words ? wrapped + line + '\n' : wrapped;
}

}  // namespace tangram
