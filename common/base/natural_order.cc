#include "common/base/natural_order.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace tangram {
namespace {

// Takes the digits at the front of `text`, without leading zeros.
absl::string_view TakeNumber(absl::string_view& text) {
  const auto end = std::find_if_not(
      text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
  absl::string_view digits = text.substr(0, end - text.begin());
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Orders two numbers without leading zeros: a longer one is greater.
int CompareNumbers(absl::string_view x, absl::string_view y) {
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  return x.compare(y);
}

// Returns a negative value, zero or a positive value. Compares characters and
// the values of numbers only.
int Compare(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (absl::ascii_isdigit(a[0]) && absl::ascii_isdigit(b[0])) {
      const int order = CompareNumbers(TakeNumber(a), TakeNumber(b));
      if (order != 0) return order;
    } else {
      if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() ? (b.empty() ? 0 : -1) : 1;
}

}  // namespace

bool NaturalLess(absl::string_view a, absl::string_view b) {
  const int order = Compare(a, b);
  return order != 0 ? order < 0 : a < b;
}

}  // namespace tangram
