#ifndef TANGRAM_CLI_PRINT_CONSOLE_H_
#define TANGRAM_CLI_PRINT_CONSOLE_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

enum class OutputFormat { kText, kJson };

// Where a command writes: answers to `out`, progress and errors to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool color = false;            // `out` understands colour.
  bool err_is_terminal = false;  // A progress line makes sense on `err`.
  // Of errors, and of answers that have a JSON form.
  OutputFormat format = OutputFormat::kText;
};

// The console of this process: colour and progress only where a person looks
// (a terminal), colour never with NO_COLOR set or a dumb terminal.
Console ProcessConsole();

enum class Style { kPlain, kBold, kDim, kGood, kBad };

// `text` in that style where `console` shows colour, else as it is.
std::string Styled(const Console& console, Style style, absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_CONSOLE_H_
