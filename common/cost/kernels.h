#ifndef TANGRAM_COMMON_COST_KERNELS_H_
#define TANGRAM_COMMON_COST_KERNELS_H_

#include "common/domain/device.h"

namespace tangram {

// Returns the precision in whose units a device runs matrix products of a
// training precision. Without units of its own, fp8 runs as bf16 and the others
// as fp32, as PyTorch emulates them: bf16 on a V100 is no faster than fp32. If
// the peak of fp32 is not known either, the slowest units stand for it.
// `peak` has a positive entry.
Precision MatmulUnits(const PeakFlops& peak, Precision precision);

// Returns the peak FLOP/s of matrix products in a training precision.
double MatmulPeakFlops(const PeakFlops& peak, Precision precision);

// Reciprocal throughputs of a device, precomputed so that kernel times need no
// division.
struct KernelRates {
  double gemm_s_per_flop = 0;
  double attention_s_per_flop = 0;
  // Rate of 16-bit products that tensor cores cannot read. 0: there are none.
  double scalar_s_per_flop = 0;
  double half_flops =
      0;  // FLOPs at which a product reaches half of its maximum.
  double s_per_byte = 0;     // Reciprocal of the achievable memory bandwidth.
  double launch_s = 0;       // Fixed time of each kernel on the device.
  double host_launch_s = 0;  // The host's time to issue a kernel.
  double unaligned_penalty =
      0;                   // Slowdown of dimensions that do not fill tiles.
  double odd_penalty = 0;  // Slowdown of dimensions that are no multiple of 8.
};

KernelRates RatesOf(const DeviceSpec& device, Precision precision);

// One matrix product, or `count` equal products in one grouped kernel. Its time
// is the sum of arithmetic and memory traffic: tiles are read before they are
// multiplied and written after that, and in LLM-Foundry's and Megatron-LM's
// runs narrow models lose as much as a sum says. With the efficiency f / (f +
// half) of DeviceEfficiency, f FLOPs take (f + half) / (peak · max). A product
// whose k or n does not fit the tiles takes longer by the device's penalty.
struct Gemm {
  double m = 0;
  double k = 0;
  double n = 0;
  double count = 1;
  double flops() const { return 2 * m * k * n; }
};
// Returns the seconds of a product whose elements have `element_bytes` bytes.
double GemmSeconds(const Gemm& gemm, double element_bytes,
                   const KernelRates& rates);

// Returns the seconds of a fused attention kernel.
double AttentionSeconds(double flops, double bytes, const KernelRates& rates);

// Returns the seconds of a batched product of heads of `head_dim` dimensions in
// unfused attention. If tensor cores cannot read those whole, it is slower by
// the odd penalty and, in 16 bits, no faster than the fp32 units.
double BatchedHeadSeconds(double flops, double bytes, double head_dim,
                          const KernelRates& rates);

// Returns the seconds of an element-wise kernel that moves `bytes`.
double PassSeconds(double bytes, const KernelRates& rates);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_KERNELS_H_
