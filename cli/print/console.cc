#include "cli/print/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/printable_text.h"

namespace tangram {
namespace {

// True unless NO_COLOR is set and not empty (https://no-color.org) or the
// terminal is dumb. Called before there are threads, as getenv requires.
bool ColorIsWelcome() {
  const char* no_color =
      std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  return term != nullptr && absl::string_view(term) != "dumb";
}

absl::string_view EscapeCode(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
  }
  return "";
}

// Returns the columns of the terminal that is standard output; 0 if it is none.
int TerminalWidth() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int WidthFor(const char* columns, int terminal) {
  int width = 0;
  if (columns == nullptr || !absl::SimpleAtoi(columns, &width) || width <= 0) {
    width = terminal > 0 ? terminal : kUsualWidth;
  }
  return std::clamp(width, kLeastWidth, kMostWidth);
}

Console ProcessConsole() {
  const char* columns =
      std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe)
  return {.out = std::cout,
          .err = std::cerr,
          .color = isatty(STDOUT_FILENO) == 1 && ColorIsWelcome(),
          .err_is_terminal = isatty(STDERR_FILENO) == 1,
          .width = WidthFor(columns, TerminalWidth())};
}

std::string Styled(const Console& console, Style style,
                   absl::string_view text) {
  std::string shown = EscapedControls(text);
  if (!console.color || style == Style::kPlain) return shown;
  return absl::StrCat(EscapeCode(style), shown, "\x1b[0m");
}

}  // namespace tangram
