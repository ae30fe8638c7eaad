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

// Throughput of batched products of one head each, as a fraction of a fused
// kernel's. Fitted with DeviceEfficiency::attention_fraction on runs of vTrain,
// Megatron-LM and Mist.
constexpr double kBatchedShare = 0.75;

// Share of the fp32 peak that batched 16-bit products reach without tensor
// cores. Two BLOOM tuning runs on A100 differ in heads of 144 and 108
// dimensions alone, and two in heads of 216 and 225 and the width that goes
// with them; one of 104B on V100 has heads of 145.
constexpr double kScalarFraction = 0.6;

// Returns 0 if products do not run in 16 bits, or the fp32 peak is not known.
double ScalarSecondsPerFlop(const DeviceSpec& device, Precision precision) {
  const PeakFlops& peak = device.peak_flops;
  if (MatmulUnits(peak, precision) == Precision::kFp32 || peak.fp32 == 0) {
    return 0;
  }
  return 1 / (peak.fp32 * kScalarFraction);
}

}  // namespace

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
  return {
      .gemm_s_per_flop = 1 / (gemm * max_fraction),
      .attention_s_per_flop =
          1 / (attention * max_fraction * efficiency.attention_fraction),
      .scalar_s_per_flop = ScalarSecondsPerFlop(device, attention_precision),
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

// max((1 + odd) · attention(flops / share), flops / scalar rate + launch)
double BatchedHeadSeconds(double flops, double bytes, double head_dim,
                          const KernelRates& rates) {
  const double whole_s = AttentionSeconds(flops / kBatchedShare, bytes, rates);
  if (std::fmod(head_dim, kLane) == 0) return whole_s;
  return std::max((1 + rates.odd_penalty) * whole_s,
                  flops * rates.scalar_s_per_flop + rates.launch_s);
}

// bytes / bandwidth + launch
double PassSeconds(double bytes, const KernelRates& rates) {
  return bytes * rates.s_per_byte + rates.launch_s;
}

}  // namespace tangram
