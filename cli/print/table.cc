#include "cli/print/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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
// Fewer columns of an elastic cell say nothing.
constexpr int kLeastElastic = 8;

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

// Returns the first `count` code points of `text`.
std::string Head(absl::string_view text, int count) {
  size_t end = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 &&
        count-- == 0) {
      break;
    }
    ++end;
  }
  return std::string(text.substr(0, end));
}

// Cuts the middle out of a text of more than `width` columns.
std::string Elided(const std::string& text, int width) {
  constexpr absl::string_view kDots = "..";
  const int columns = DisplayWidth(text);
  if (columns <= width) return text;
  const int kept = std::max(width - static_cast<int>(kDots.size()), 0);
  const std::string head = Head(text, kept / 2);
  const size_t skipped = Head(text, columns - (kept - kept / 2)).size();
  return absl::StrCat(head, kDots, text.substr(skipped));
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

// Returns the widths of the columns; 0: not shown.
std::vector<int> Table::WidthsAt(int width) const {
  std::vector<int> widths(columns_.size(), 0);
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
    if (widths[c] > 0) {
      widths[c] = std::max(widths[c], DisplayWidth(columns_[c].title));
    }
  }
  const auto excess = [&] {
    int total = kIndent - kGap;
    for (const int column : widths) total += column > 0 ? column + kGap : 0;
    return width > 0 ? total - width : 0;
  };
  while (excess() > 0) {
    size_t next = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] > 0 &&
          (widths[next] == 0 || columns_[c].drop > columns_[next].drop)) {
        next = c;
      }
    }
    if (columns_[next].drop == 0) break;
    widths[next] = 0;
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].is_elastic || excess() <= 0) continue;
    const int least = std::max(kLeastElastic, DisplayWidth(columns_[c].title));
    widths[c] = std::max(std::min(widths[c], least), widths[c] - excess());
  }
  return widths;
}

std::vector<std::string> Table::DroppedAt(int width) const {
  const std::vector<int> all = WidthsAt(0);
  const std::vector<int> shown = WidthsAt(width);
  std::vector<std::string> dropped;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (all[c] > 0 && shown[c] == 0) dropped.push_back(columns_[c].title);
  }
  return dropped;
}

std::string Table::ToString(int width) const {
  const std::vector<int> widths = WidthsAt(width);
  std::string text;
  const auto append_line = [&](const auto& cell) {
    std::string line(kIndent, ' ');
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) continue;
      AppendCell(Elided(cell(c), widths[c]), columns_[c].align, widths[c],
                 line);
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

std::string LabelledText(absl::string_view label, const std::string& text,
                         int column, int width) {
  // WrapText indents the first line by less than the others: a word of one
  // letter and a blank make up for it, and give way to the label.
  const std::string lines = WrapText("x " + text, column - kIndent, width);
  std::string head = std::string(kIndent, ' ');
  absl::StrAppend(&head, label);
  head.resize(column, ' ');
  return head + lines.substr(std::min<size_t>(column, lines.size()));
}

}  // namespace tangram
