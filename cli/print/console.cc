#include "cli/print/console.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

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

}  // namespace

Console ProcessConsole() {
  return {.out = std::cout,
          .err = std::cerr,
          .color = isatty(STDOUT_FILENO) == 1 && ColorIsWelcome(),
          .err_is_terminal = isatty(STDERR_FILENO) == 1};
}

std::string Styled(const Console& console, Style style,
                   absl::string_view text) {
  std::string shown = EscapedControls(text);
  if (!console.color || style == Style::kPlain) return shown;
  return absl::StrCat(EscapeCode(style), shown, "\x1b[0m");
}

}  // namespace tangram
