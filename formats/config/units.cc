#include "formats/config/units.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/domain/figure_limits.h"

namespace tangram {
namespace {

struct Unit {
  absl::string_view symbol;
  double scale = 1;
};

constexpr Unit kByteUnits[] = {{"B"}};
// A bit is 1/8 of a byte.
constexpr Unit kBandwidthUnits[] = {
    {"B/s"}, {"Bps"}, {"bit/s", 0.125}, {"bps", 0.125}, {"b/s", 0.125}};
constexpr Unit kTimeUnits[] = {{"s"}};
constexpr Unit kFlopsUnits[] = {{"FLOPS"}, {"FLOP/s"}};

struct Prefix {
  absl::string_view symbol;
  double scale = 1;
  double divisor = 1;  // Used for small prefixes, since 1e-6 is not exact.
};

// IEC 80000-13 (Ki) and SI (k). K is what people write.
constexpr Prefix kLargePrefixes[] = {
    {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
    {"Pi", 0x1p50}, {"k", 1e3},     {"K", 1e3},     {"M", 1e6},
    {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {""}};
// SI.
constexpr Prefix kSmallPrefixes[] = {
    {"m", 1, 1e3}, {"u", 1, 1e6}, {"µ", 1, 1e6}, {"n", 1, 1e9}, {""}};

struct DimensionInfo {
  absl::Span<const Unit> units;
  absl::Span<const Prefix> prefixes;
  absl::string_view expected;
  // A value outside is taken for a typing error.
  double min = 0;
  double max = 0;
};

DimensionInfo InfoOf(Dimension dimension) {
  switch (dimension) {
    case Dimension::kBytes:
      return {kByteUnits, kLargePrefixes, "a positive size such as \"16 GB\"",
              kLeastBytes, kMaxMemoryBytes};
    case Dimension::kBandwidth:
      return {kBandwidthUnits, kLargePrefixes,
              "a positive bandwidth such as \"12 GB/s\"", kLeastRate,
              kMaxBandwidthBytesPerS};
    case Dimension::kSeconds:
      return {kTimeUnits, kSmallPrefixes, "a time such as \"10us\"", 0,
              kMaxLatencyS};
    case Dimension::kFlops:
      return {kFlopsUnits, kLargePrefixes,
              "a positive throughput such as \"65 TFLOPS\"", kLeastRate,
              kMaxFlopsPerS};
  }
  return {};
}

// Converts `value` from `unit` to base units; empty for an unknown unit.
std::optional<double> InBaseUnits(double value, absl::string_view unit,
                                  const DimensionInfo& info) {
  for (const Prefix& prefix : info.prefixes) {
    absl::string_view rest = unit;
    if (!absl::ConsumePrefix(&rest, prefix.symbol)) continue;
    for (const Unit& known : info.units) {
      if (rest != known.symbol) continue;
      return value * prefix.scale * known.scale / prefix.divisor;
    }
  }
  return std::nullopt;
}

// Returns the length of the decimal number at the front. An exponent counts
// only with its digits, so that the E of "5 EB" is none.
size_t NumberLength(absl::string_view text) {
  const auto skip_digits = [text](size_t i) {
    while (i < text.size() && absl::ascii_isdigit(text[i])) ++i;
    return i;
  };
  const auto skip_sign = [text](size_t i) {
    return i < text.size() && (text[i] == '+' || text[i] == '-') ? i + 1 : i;
  };
  size_t end = skip_digits(skip_sign(0));
  if (end < text.size() && text[end] == '.') end = skip_digits(end + 1);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const size_t exponent = skip_sign(end + 1);
    if (skip_digits(exponent) > exponent) end = skip_digits(exponent);
  }
  return end;
}

}  // namespace

std::optional<double> ParseQuantity(absl::string_view text, Dimension dimension,
                                    double plain_scale) {
  const DimensionInfo info = InfoOf(dimension);
  text = absl::StripAsciiWhitespace(text);
  const size_t length = NumberLength(text);
  double value = 0;
  if (!absl::SimpleAtod(text.substr(0, length), &value)) return std::nullopt;
  const absl::string_view unit =
      absl::StripAsciiWhitespace(text.substr(length));
  if (unit.empty()) {
    value *= plain_scale;
  } else {
    const std::optional<double> converted = InBaseUnits(value, unit, info);
    if (!converted.has_value()) return std::nullopt;
    value = *converted;
  }
  if (value >= info.min && value <= info.max) return value;
  return std::nullopt;
}

absl::string_view ExpectedQuantity(Dimension dimension) {
  return InfoOf(dimension).expected;
}

std::string FormatQuantity(double value, Dimension dimension) {
  const DimensionInfo info = InfoOf(dimension);
  const auto size = [](const Prefix& p) { return p.scale / p.divisor; };
  Prefix best;
  for (const Prefix& prefix : info.prefixes) {
    // Decimal prefixes only, in one spelling.
    if (prefix.symbol.size() > 1 || prefix.symbol == "K") continue;
    if (value < size(prefix)) continue;
    if (size(prefix) > size(best) || value < size(best)) best = prefix;
  }
  return absl::StrFormat("%.4g %s%s", value / size(best), best.symbol,
                         info.units.front().symbol);
}

}  // namespace tangram
