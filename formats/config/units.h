#ifndef TANGRAM_FORMATS_CONFIG_UNITS_H_
#define TANGRAM_FORMATS_CONFIG_UNITS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// The dimension of a quantity; its SI base unit is bytes, bytes/s, seconds or
// FLOP/s.
enum class Dimension { kBytes, kBandwidth, kSeconds, kFlops };

// Parses a number with an optional unit into SI base units (bytes, bytes/s,
// seconds, FLOP/s): "16 GB", "12.5GiB", "80 Gbit/s", "80Gbps", "320 GB/s",
// "10us", "65 TFLOPS". K, M, G, T, P are powers of 1,000; Ki, Mi, Gi, Ti, Pi of
// 1,024. `plain_scale` multiplies a number without a unit. Empty if the text is
// no such number, NaN, or outside the limits of the dimension
// (common/domain/limits.h): a time may be 0, others are at least one unit.
std::optional<double> ParseQuantity(absl::string_view text, Dimension dimension,
                                    double plain_scale = 1);

// Describes what ParseQuantity accepts: "a positive size such as \"16 GB\"".
absl::string_view ExpectedQuantity(Dimension dimension);

// Returns "16 GB", "5.9 GB/s", "10 us", "65 TFLOPS": four significant digits.
std::string FormatQuantity(double value, Dimension dimension);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_UNITS_H_
