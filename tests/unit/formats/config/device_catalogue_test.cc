#include "formats/config/device_catalogue.h"

#include "formats/catalogue/devices_yaml.h"
#include "formats/config/efficiency_fields.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(DeviceCatalogueTest, TheShippedTextIsValid) {
  EXPECT_THAT(ParseDevices(DevicesYaml(), "devices.yaml"), testing::IsOk());
  EXPECT_THAT(DeviceCatalogue(), Not(IsEmpty()));
}

TEST(DeviceCatalogueTest, EveryDeviceIsFullyDescribed) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    const DeviceSpec& device = entry.device;
    EXPECT_GT(device.peak_flops.fp32, 5e12);
    EXPECT_GE(device.peak_flops.fp16, device.peak_flops.fp32);
    EXPECT_LT(device.peak_flops.fp16, 3e15);
    EXPECT_GT(device.memory_bytes, 11e9);
    EXPECT_LT(device.memory_bytes, 310e9);  // 288 GiB.
    EXPECT_GT(device.memory_bandwidth_bytes_per_s, 299e9);
    EXPECT_LE(device.memory_bandwidth_bytes_per_s, 8e12);
    EXPECT_GE(entry.gpus_per_node, 1);
    EXPECT_TRUE(device.measured.empty());
  }
}

TEST(DeviceCatalogueTest, EveryValueSaysWhereItIsFrom) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    EXPECT_THAT(entry.source, Not(IsEmpty()));
    EXPECT_THAT(entry.intra_node_source, Not(IsEmpty()));
    EXPECT_THAT(entry.inter_node_source, Not(IsEmpty()));
    EXPECT_THAT(entry.efficiency_sources, SizeIs(EfficiencyFields().size()));
    EXPECT_THAT(entry.efficiency_sources, Each(Not(IsEmpty())));
  }
}

TEST(DeviceCatalogueTest, EfficienciesArePlausible) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    const DeviceEfficiency& efficiency = entry.device.efficiency;
    for (const double fraction :
         {efficiency.gemm_max_fraction, efficiency.attention_fraction,
          efficiency.memory_fraction}) {
      EXPECT_GT(fraction, 0.1);
      EXPECT_LT(fraction, 1);
    }
    EXPECT_GE(efficiency.gemm_half_flops, 1e8);
    EXPECT_LE(efficiency.gemm_half_flops, 1e12);
    EXPECT_GE(efficiency.kernel_launch_s, 1e-6);
    EXPECT_LE(efficiency.kernel_launch_s, 5e-5);
    EXPECT_GT(efficiency.reserved_bytes, 0.3e9);
    EXPECT_LT(efficiency.reserved_bytes, 0.1 * entry.device.memory_bytes);
    EXPECT_LT(efficiency.fragmentation, 0.3);
  }
}

TEST(DeviceCatalogueTest, LinksAreUsable) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    for (const Link& link : {entry.intra_node, entry.inter_node}) {
      EXPECT_GT(link.bandwidth_bytes_per_s, 1e9);
      EXPECT_GT(link.pair_bandwidth_bytes_per_s, 1e9);
      EXPECT_GE(link.latency_s, 1e-6);
      EXPECT_LE(link.latency_s, 1e-4);
    }
    EXPECT_LE(entry.inter_node.pair_bandwidth_bytes_per_s,
              entry.inter_node.bandwidth_bytes_per_s);
  }
}

TEST(FindDeviceTest, KnowsTypesAndAliasesInAnyCase) {
  ASSERT_NE(FindDevice("t4"), nullptr);
  EXPECT_EQ(FindDevice("t4")->device.type, "T4");
  EXPECT_EQ(FindDevice("NVIDIA A100-SXM4-80GB")->device.type, "A100-80");
  EXPECT_EQ(FindDevice("a100-80")->device.type, "A100-80");
  EXPECT_EQ(FindDevice("v100-16")->device.type, "V100-16");
  EXPECT_EQ(FindDevice("TPU"), nullptr);
  EXPECT_EQ(FindDevice(""), nullptr);
}

TEST(FindDeviceTest, KnowsEveryDeviceThatClustersAreMadeOf) {
  for (const char* type :
       {"T4",        "V100-16",      "V100-16-SXM2", "V100-32-PCIe",
        "V100-32",   "V100-32-SXM2", "A10G",         "A10",
        "L4",        "L40S",         "A100-40",      "A100-40-PCIe",
        "A100-80",   "A100-80-PCIe", "H100",         "H100-NVL",
        "H100-PCIe", "H200",         "GH200",        "GH200-96",
        "GH200-144", "B200",         "B300",         "GB200",
        "GB300",     "RTX-2080-Ti",  "RTX-2080",     "Titan-RTX",
        "RTX-3090",  "RTX-4090",     "MI300X",       "A40",
        "A30",       "A6000",        "RTX 6000 Ada", "RTX PRO 6000",
        "RTX 5090",  "L20",          "H20",          "H800",
        "A800",      "P100",         "MI250X",       "MI325X",
        "MI355X",    "Gaudi2",       "Gaudi3"}) {
    EXPECT_NE(FindDevice(type), nullptr) << type;
  }
}

TEST(DeviceCatalogueTest, HasFiftyDevices) {
  EXPECT_GE(DeviceCatalogue().size(), 50);
}

TEST(DeviceCatalogueTest, AGenerationIsTheBlockBelowTheGeneralOne) {
  EXPECT_EQ(FindDevice("A100-80")->generation, "ampere");
  EXPECT_EQ(FindDevice("A10")->generation, "ampere");  // Like a10g.
  EXPECT_EQ(FindDevice("Titan-RTX")->generation, "turing");
  EXPECT_EQ(FindDevice("H100")->generation, "hopper");
}

TEST(GeneralEfficiencyTest, HalfOfTheRateIsReachedAfterTheSameTime) {
  const DeviceEfficiency small = GeneralEfficiency({.fp16 = 200e12}, 2e12);
  const DeviceEfficiency large = GeneralEfficiency({.bf16 = 800e12}, 2e12);

  EXPECT_NEAR(large.gemm_half_flops / small.gemm_half_flops, 4, 1e-9);
  EXPECT_EQ(large.memory_fraction, small.memory_fraction);
  EXPECT_GT(small.host_launch_s, 0);
  EXPECT_GT(small.overlap_penalty, 0);
}

// 4^-0.11 of the fraction of peak, 1.2^-0.47 of the fraction of bandwidth.
TEST(GeneralEfficiencyTest, FasterGpusReachLessOfTheirDatasheets) {
  const DeviceEfficiency small = GeneralEfficiency({.fp16 = 200e12}, 2.5e12);
  const DeviceEfficiency large = GeneralEfficiency({.fp16 = 800e12}, 3e12);

  EXPECT_NEAR(large.gemm_max_fraction / small.gemm_max_fraction, 0.8586, 1e-4);
  EXPECT_NEAR(large.memory_fraction / small.memory_fraction, 0.9179, 1e-4);
}

// 0.7^-0.1: cards nearly fill their memory's bandwidth.
TEST(GeneralEfficiencyTest, SlowMemoryIsFilledNearlyAlike) {
  const DeviceEfficiency slow = GeneralEfficiency({.fp16 = 200e12}, 0.7e12);
  const DeviceEfficiency fast = GeneralEfficiency({.fp16 = 200e12}, 1e12);

  EXPECT_NEAR(slow.memory_fraction / fast.memory_fraction, 1.0363, 1e-4);
}

// The two GPUs on which predictions from a datasheet are tested.
TEST(GeneralEfficiencyTest, IsNearWhatAmpereAndHopperReach) {
  for (const char* type : {"A100-80", "H100"}) {
    const DeviceSpec& known = FindDevice(type)->device;
    const DeviceEfficiency general =
        GeneralEfficiency(known.peak_flops, known.memory_bandwidth_bytes_per_s);
    EXPECT_NEAR(general.gemm_max_fraction / known.efficiency.gemm_max_fraction,
                1, 0.03)
        << type;
    EXPECT_NEAR(general.memory_fraction / known.efficiency.memory_fraction, 1,
                0.03)
        << type;
  }
}

TEST(GeneralEfficiencyTest, NoGpuReachesMoreThanThoseMeasured) {
  const DeviceEfficiency card = GeneralEfficiency({.fp32 = 1e12}, 1e11);
  const DeviceEfficiency huge = GeneralEfficiency({.fp16 = 1e18}, 1e15);

  EXPECT_EQ(card.gemm_max_fraction, 0.9);
  EXPECT_EQ(card.memory_fraction, 0.75);
  EXPECT_EQ(huge.memory_fraction, 0.52);
}

TEST(InterNodeLinkTest, NodesOfFewerGpusHaveFewerNetworkCards) {
  const CatalogueDevice& h100 = *FindDevice("H100");  // 8 x 45 GB/s.

  EXPECT_EQ(InterNodeLink(h100, 8), h100.inter_node);
  EXPECT_EQ(InterNodeLink(h100, 16), h100.inter_node);
  EXPECT_NEAR(InterNodeLink(h100, 2).bandwidth_bytes_per_s, 90e9, 1);
  EXPECT_EQ(InterNodeLink(h100, 2).pair_bandwidth_bytes_per_s, 45e9);
  // One card for all four GPUs.
  const CatalogueDevice& t4 = *FindDevice("T4");
  EXPECT_EQ(InterNodeLink(t4, 1), t4.inter_node);
}

TEST(FindDeviceTest, OldDevicesLackNewUnits) {
  for (const char* type : {"T4", "V100-16", "V100-32", "RTX-2080-Ti"}) {
    EXPECT_EQ(FindDevice(type)->device.peak_flops.bf16, 0) << type;
    EXPECT_FALSE(FindDevice(type)->device.supports_flash_attention) << type;
  }
  EXPECT_EQ(FindDevice("A100-80")->device.peak_flops.fp8, 0);
  EXPECT_GT(FindDevice("H100")->device.peak_flops.fp8, 0);
}

}  // namespace
}  // namespace tangram
