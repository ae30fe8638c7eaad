#ifndef TANGRAM_CLI_PRINT_CONSOLE_H_
#define TANGRAM_CLI_PRINT_CONSOLE_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

enum class OutputFormat { kText, kJson };

// Columns of output that is not on a terminal, and the fewest and the most that
// are used.
inline constexpr int kUsualWidth = 80;
inline constexpr int kLeastWidth = 40;
inline constexpr int kMostWidth = 400;

// Where a command writes: answers to `out`, progress and errors to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool color = false;            // `out` understands colour.
  bool err_is_terminal = false;  // A progress line makes sense on `err`.
  // Format of errors, and of answers that have a JSON form.
  OutputFormat format = OutputFormat::kText;
  int width = kUsualWidth;  // Columns of everything that is for people.
};

// Returns the console of this process. Colour and progress are on for terminals
// only. NO_COLOR or a dumb terminal turns colour off. The width is $COLUMNS,
// else that of the terminal, else kUsualWidth.
Console ProcessConsole();

// Returns the width to use if $COLUMNS is `columns`, which may be null, and the
// terminal says `terminal` columns, 0 without one.
int WidthFor(const char* columns, int terminal);

enum class Style {
  kPlain,
  kBold,  // Headings.
  kDim,   // Details.
  kGood,  // Green.
  kBad    // Red.
};

// Returns `text` in `style` if `console` shows colour. Control characters of
// `text` are escaped.
std::string Styled(const Console& console, Style style, absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_CONSOLE_H_
