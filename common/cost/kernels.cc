#include "common/cost/kernels.h"

#include <algorithm>
#include <cmath>

namespace tangram {
namespace {

// 16-bit elements that tensor cores read at once (16 bytes), and elements that
// fill a tile (128 bytes; NVIDIA, Matrix Multiplication Background User's
// Guide).
constexpr double kLane = 8;
constexpr double kTile = 64;

// Returns the fraction by which a product with this inner or last dimension is
// slower.
double AlignmentPenalty(double dimension, const KernelRates& rates) {
  if (std::fmod(dimension, kTile) == 0) return 0;
  return std::fmod(dimension, kLane) == 0 ? rates.unaligned_penalty
                                          : rates.odd_penalty;
}

}  // namespace

double OddPenalty(double dimension, const KernelRates& rates) {
  return std::fmod(dimension, kLane) == 0 ? 0 : rates.odd_penalty;
}

Precision MatmulUnits(const PeakFlops& peak, Precision precision) {
  if (peak.At(precision) > 0) return precision;
  if (precision == Precision::kFp8) return MatmulUnits(peak, Precision::kBf16);
  Precision slowest = Precision::kFp32;
  for (const Precision other :
       {Precision::kFp16, Precision::kBf16, Precision::kFp8}) {
    if (peak.fp32 > 0 || peak.At(other) == 0) continue;
    if (peak.At(slowest) == 0 || peak.At(other) < peak.At(slowest)) {
      slowest = other;
    }
  }
  return slowest;
}

double MatmulPeakFlops(const PeakFlops& peak, Precision precision) {
  return peak.At(MatmulUnits(peak, precision));
}

// Attention reaches a fraction of what plain products reach.
KernelRates RatesOf(const DeviceSpec& device, Precision precision) {
  const DeviceEfficiency& efficiency = device.efficiency;
  // With fp8 training, only the projections run in 8 bits.
  const Precision attention_precision =
      precision == Precision::kFp8 ? Precision::kBf16 : precision;
  const double gemm = MatmulPeakFlops(device.peak_flops, precision);
  const double attention =
      MatmulPeakFlops(device.peak_flops, attention_precision);
  const double max_fraction = efficiency.gemm_max_fraction;
  return {.gemm_s_per_flop = 1 / (gemm * max_fraction),
          .attention_s_per_flop =
              1 / (attention * max_fraction * efficiency.attention_fraction),
          .half_flops = efficiency.gemm_half_flops,
          .s_per_byte = 1 / (device.memory_bandwidth_bytes_per_s *
                             efficiency.memory_fraction),
          .launch_s = efficiency.kernel_launch_s,
          .host_launch_s = efficiency.host_launch_s,
          .unaligned_penalty = efficiency.unaligned_penalty,
          .odd_penalty = efficiency.odd_penalty};
}

// count · (slowdown · (f + half) / (peak · max) + bytes / bandwidth) + launch
double GemmSeconds(const Gemm& gemm, double element_bytes,
                   const KernelRates& rates) {
  const double slowdown = 1 + std::max(AlignmentPenalty(gemm.k, rates),
                                       AlignmentPenalty(gemm.n, rates));
  const double bytes =
      element_bytes * (gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n);
  return gemm.count * (slowdown * (gemm.flops() + rates.half_flops) *
                           rates.gemm_s_per_flop +
                       bytes * rates.s_per_byte) +
         rates.launch_s;
}

// max((f + half) / (peak · max · attention), bytes / bandwidth) + launch
double AttentionSeconds(double flops, double bytes, const KernelRates& rates) {
  return std::max((flops + rates.half_flops) * rates.attention_s_per_flop,
                  bytes * rates.s_per_byte) +
         rates.launch_s;
}

// bytes / bandwidth + launch
double PassSeconds(double bytes, const KernelRates& rates) {
  return bytes * rates.s_per_byte + rates.launch_s;
}

}  // namespace tangram
