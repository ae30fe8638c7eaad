#ifndef TANGRAM_COMMON_DOMAIN_FIGURE_LIMITS_H_
#define TANGRAM_COMMON_DOMAIN_FIGURE_LIMITS_H_

// Limits of the figures of devices and links, and of their measurements, in
// files and in messages. They catch wrong units, and they keep every predicted
// time finite.
namespace tangram {

// A petabyte, and a petabyte a second.
inline constexpr double kMaxMemoryBytes = 1e15;
inline constexpr double kMaxBandwidthBytesPerS = 1e15;
// Thousands of times what a GPU of today does.
inline constexpr double kMaxFlopsPerS = 1e20;
// A device or a link does at least one byte or FLOP a second.
inline constexpr double kLeastRate = 1;
inline constexpr double kLeastBytes = 1;
// A latency, or the launch of a kernel: in practice, microseconds to
// milliseconds.
inline constexpr double kMaxLatencyS = 1e3;
// Eleven days: a measured layer or collective.
inline constexpr double kMaxMeasuredS = 1e6;
// No kernel is 1,000 times slower than its peak, none of 10^15 FLOPs reaches
// only half of it, and no penalty makes it 100 times slower.
inline constexpr double kLeastEfficiency = 0.001;
inline constexpr double kMaxGemmHalfFlops = 1e15;
inline constexpr double kMaxPenalty = 100;

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_FIGURE_LIMITS_H_
