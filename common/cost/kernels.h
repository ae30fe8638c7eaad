#ifndef TANGRAM_COMMON_COST_KERNELS_H_
#define TANGRAM_COMMON_COST_KERNELS_H_

#include "common/domain/device.h"

namespace tangram {

// The peak that matrix products of a training precision get on a device: where
// it lacks the units, the widest narrower-than-fp32 ones it has (bf16 on V100
// runs as fp16), then fp32.
double MatmulPeakFlops(const PeakFlops& peak, Precision precision);

// What a device delivers, as factors: a kernel's time takes no division.
struct KernelRates {
  double gemm_s_per_flop = 0;
  double attention_s_per_flop = 0;
  double half_flops = 0;
  double s_per_byte = 0;
  double launch_s = 0;
  double host_launch_s = 0;
  double unaligned_penalty = 0;
  double odd_penalty = 0;
};

KernelRates RatesOf(const DeviceSpec& device, Precision precision);

// Roofline: the slower of arithmetic and memory traffic. With the efficiency
// f / (f + half) of DeviceEfficiency, f FLOPs take (f + half) / (peak · max).
// `count` equal products run as one grouped kernel. A product whose k or n
// does not fit the tiles takes the device's penalty longer.
struct Gemm {
  double m = 0;
  double k = 0;
  double n = 0;
  double count = 1;
  double flops() const { return 2 * m * k * n; }
};
double GemmSeconds(const Gemm& gemm, double element_bytes,
                   const KernelRates& rates);

// The fraction by which products are slower that tensor cores cannot read
// whole.
double OddPenalty(double dimension, const KernelRates& rates);

// A fused or batched product inside the attention core.
double AttentionSeconds(double flops, double bytes, const KernelRates& rates);

// An element-wise kernel that moves `bytes`.
double PassSeconds(double bytes, const KernelRates& rates);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_KERNELS_H_
