#ifndef TANGRAM_COMMON_BASE_FORMAT_H_
#define TANGRAM_COMMON_BASE_FORMAT_H_

#include <cstdint>
#include <string>

namespace tangram {

// Formats quantities for people, with about three significant digits and a
// fitting unit. FormatPercent prints one decimal. FormatThousands and
// FormatItems are exact.
std::string FormatSeconds(double seconds);             // "431 ms", "12.3 s"
std::string FormatBytes(double bytes);                 // "15.8 GB", SI units
std::string FormatBandwidth(double bytes_per_s);       // "12.0 GB/s"
std::string FormatCount(double count);                 // "6.66 billion"
std::string FormatPercent(double fraction);            // "12.3 %"
std::string FormatThousands(int64_t value);            // "21,234"
std::string FormatItems(int64_t n, const char* noun);  // "1 node", "2 nodes"
// "29.5 s, 6.4 % longer": a time, and how much longer or shorter than another.
std::string FormatBeside(double seconds, double other_s);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_FORMAT_H_
