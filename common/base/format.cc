#include "common/base/format.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tangram {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Formats `value` with three significant digits in the largest of `units` that
// is not above it. `units` are in descending order.
template <size_t kNumUnits>
std::string InUnits(double value, const Unit (&units)[kNumUnits]) {
  const Unit* unit = std::begin(units);
  // From 0.9995 of a unit on, the smaller unit would print as 1000.
  while (unit + 1 != std::end(units) && std::abs(value) < 0.9995 * unit->size) {
    ++unit;
  }
  const double scaled = value / unit->size;
  const int decimals = std::abs(scaled) < 9.995   ? 2
                       : std::abs(scaled) < 99.95 ? 1
                                                  : 0;
  return absl::StrFormat("%.*f %s", decimals, scaled, unit->name);
}

}  // namespace

std::string FormatSeconds(double seconds) {
  return InUnits(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}});
}

std::string FormatBytes(double bytes) {
  return InUnits(bytes, {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}});
}

std::string FormatBandwidth(double bytes_per_s) {
  return InUnits(bytes_per_s, {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}});
}

std::string FormatCount(double count) {
  return InUnits(count, {{1e12, "trillion"},
                         {1e9, "billion"},
                         {1e6, "million"},
                         {1e3, "thousand"}});
}

std::string FormatPercent(double fraction) {
  return absl::StrFormat("%.1f %%", 100 * fraction);
}

std::string FormatThousands(int64_t value) {
  const std::string digits = absl::StrCat(value < 0 ? -value : value);
  std::string text = value < 0 ? "-" : "";
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string FormatItems(int64_t n, const char* noun) {
  return absl::StrCat(FormatThousands(n), " ", noun, n == 1 ? "" : "s");
}

std::string FormatBeside(double seconds, double other_s) {
  const double longer = seconds / other_s - 1;
  return absl::StrCat(FormatSeconds(seconds), ", ",
                      FormatPercent(std::abs(longer)),
                      longer < 0 ? " shorter" : " longer");
}

}  // namespace tangram
