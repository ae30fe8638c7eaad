#include "common/cost/kernels.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;

TEST(MatmulPeakFlopsTest, APrecisionWithoutUnitsRunsAtTheRateOfFp32) {
  const PeakFlops volta = {.fp32 = 15, .fp16 = 125};
  EXPECT_EQ(MatmulPeakFlops(volta, Precision::kFp32), 15);
  EXPECT_EQ(MatmulPeakFlops(volta, Precision::kFp16), 125);
  EXPECT_EQ(MatmulPeakFlops(volta, Precision::kBf16), 15);
  EXPECT_EQ(MatmulUnits(volta, Precision::kBf16), Precision::kFp32);
  EXPECT_EQ(MatmulPeakFlops({.fp32 = 10}, Precision::kFp16), 10);
}

TEST(MatmulPeakFlopsTest, Fp8WithoutUnitsRunsAsBf16) {
  const PeakFlops ampere = {.fp32 = 19, .fp16 = 300, .bf16 = 312};
  EXPECT_EQ(MatmulPeakFlops(ampere, Precision::kFp8), 312);
  EXPECT_EQ(MatmulUnits(ampere, Precision::kFp8), Precision::kBf16);
  EXPECT_EQ(MatmulPeakFlops({.fp32 = 15, .fp16 = 125}, Precision::kFp8), 15);
}

TEST(MatmulPeakFlopsTest, TheSlowestUnitsStandForAnUnknownFp32) {
  const PeakFlops peak = {.fp16 = 60, .bf16 = 50, .fp8 = 100};
  EXPECT_EQ(MatmulPeakFlops(peak, Precision::kFp32), 50);
  EXPECT_EQ(MatmulUnits(peak, Precision::kFp32), Precision::kBf16);
  EXPECT_EQ(MatmulPeakFlops({.fp16 = 60}, Precision::kBf16), 60);
  EXPECT_EQ(MatmulPeakFlops({.fp16 = 60}, Precision::kFp8), 60);
}

TEST(GemmSecondsTest, AddsArithmeticAndMemory) {
  const KernelRates rates = RatesOf(TestDevice(), Precision::kFp16);
  // 2·1000³ / 1e14 = 2e-5; memory 2·3·1e6 / 1e12 = 6e-6.
  EXPECT_DOUBLE_EQ(GemmSeconds({.m = 1000, .k = 1000, .n = 1000}, 2, rates),
                   2.6e-5);
  // Bytes 2·(1000 + 1e6 + 1000) = 2.004e6; arithmetic only 2e-8.
  EXPECT_DOUBLE_EQ(GemmSeconds({.m = 1, .k = 1000, .n = 1000}, 2, rates),
                   2.024e-6);
}

TEST(GemmSecondsTest, PaysForSmallProductsAndLaunches) {
  DeviceSpec device = TestDevice();
  device.efficiency.gemm_max_fraction = 0.5;
  device.efficiency.gemm_half_flops = 2e9;
  device.efficiency.kernel_launch_s = 1e-5;
  const KernelRates rates = RatesOf(device, Precision::kFp16);
  // f = 2e9 = half, so half of half the peak: 2e9 / 25e12 = 8e-5. Memory takes
  // 6e-6, the launch 1e-5.
  EXPECT_DOUBLE_EQ(GemmSeconds({.m = 1000, .k = 1000, .n = 1000}, 2, rates),
                   9.6e-5);
}

TEST(GemmSecondsTest, GroupedProductsAreAsInefficientAsTheirParts) {
  DeviceSpec device = TestDevice();
  device.efficiency.gemm_half_flops = 2e9;
  const KernelRates rates = RatesOf(device, Precision::kFp16);
  const double whole = GemmSeconds({.m = 8000, .k = 1000, .n = 1000}, 2, rates);
  const double parts =
      GemmSeconds({.m = 1000, .k = 1000, .n = 1000, .count = 8}, 2, rates);
  // 2·(8e6 + 1e6 + 8e6) and 8·2·3e6 bytes.
  EXPECT_DOUBLE_EQ(whole, (16e9 + 2e9) / 1e14 + 34e6 / 1e12);
  EXPECT_DOUBLE_EQ(parts, 8 * (2e9 + 2e9) / 1e14 + 48e6 / 1e12);
}

TEST(GemmSecondsTest, ProductsThatFillNoTilesAreSlower) {
  DeviceSpec device = TestDevice();
  device.efficiency.unaligned_penalty = 0.5;
  device.efficiency.odd_penalty = 2;
  // Memory takes no time, so that arithmetic shows.
  device.memory_bandwidth_bytes_per_s = 1e30;
  const KernelRates rates = RatesOf(device, Precision::kFp16);
  const auto seconds = [&rates](double k, double n) {
    return GemmSeconds({.m = 4096, .k = k, .n = n}, 2, rates) / (k * n);
  };
  const double aligned_s = seconds(1024, 2048);
  EXPECT_DOUBLE_EQ(seconds(1024, 2056) / aligned_s, 1.5);  // 2,056 = 257 · 8.
  EXPECT_DOUBLE_EQ(seconds(1000, 2048) / aligned_s, 1.5);
  EXPECT_DOUBLE_EQ(seconds(1024, 2049) / aligned_s, 3);
  EXPECT_DOUBLE_EQ(seconds(1000, 2049) / aligned_s, 3);  // The worse counts.
}

TEST(RatesOfTest, AttentionStaysIn16BitsUnderFp8) {
  DeviceSpec device = TestDevice();
  device.peak_flops.fp8 = 200e12;
  const KernelRates rates = RatesOf(device, Precision::kFp8);
  EXPECT_DOUBLE_EQ(rates.gemm_s_per_flop, 1 / 200e12);
  EXPECT_DOUBLE_EQ(rates.attention_s_per_flop, 1 / 100e12);
}

}  // namespace
}  // namespace tangram
