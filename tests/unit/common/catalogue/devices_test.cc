#include "common/catalogue/devices.h"

#include <set>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(DeviceCatalogueTest, EveryDeviceIsFullyDescribed) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    const DeviceSpec& device = entry.device;
    EXPECT_GT(device.peak_flops.fp32, 5e12);
    EXPECT_GE(device.peak_flops.fp16, device.peak_flops.fp32);
    EXPECT_GT(device.memory_bytes, 15e9);
    EXPECT_LT(device.memory_bytes, 210e9);
    EXPECT_GT(device.memory_bandwidth_bytes_per_s, 299e9);
    EXPECT_FALSE(entry.source.empty());
    EXPECT_GE(entry.gpus_per_node, 1);
    EXPECT_TRUE(device.measured.empty());
  }
}

TEST(DeviceCatalogueTest, EfficienciesAreFractions) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    const DeviceEfficiency& efficiency = entry.device.efficiency;
    for (const double fraction :
         {efficiency.gemm_max_fraction, efficiency.attention_fraction,
          efficiency.memory_fraction}) {
      EXPECT_GT(fraction, 0.1);
      EXPECT_LT(fraction, 1);
    }
    EXPECT_GT(efficiency.reserved_bytes, 0.5e9);
    EXPECT_LT(efficiency.reserved_bytes, 0.1 * entry.device.memory_bytes);
  }
}

TEST(DeviceCatalogueTest, LinksAreUsable) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    SCOPED_TRACE(entry.device.type);
    for (const Link& link : {entry.intra_node, entry.inter_node}) {
      EXPECT_GT(link.bandwidth_bytes_per_s, 1e9);
      EXPECT_GT(link.pair_bandwidth_bytes_per_s, 1e9);
      EXPECT_GT(link.latency_s, 0);
    }
    EXPECT_LE(entry.inter_node.pair_bandwidth_bytes_per_s,
              entry.inter_node.bandwidth_bytes_per_s);
  }
}

TEST(DeviceCatalogueTest, NamesAreUnique) {
  std::set<std::string> names;
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    EXPECT_TRUE(names.insert(absl::AsciiStrToLower(entry.device.type)).second)
        << entry.device.type;
    for (const std::string& alias : entry.aliases) {
      EXPECT_TRUE(names.insert(absl::AsciiStrToLower(alias)).second) << alias;
    }
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

TEST(FindDeviceTest, OldDevicesLackNewUnits) {
  for (const char* type : {"T4", "V100-16", "V100-32"}) {
    EXPECT_EQ(FindDevice(type)->device.peak_flops.bf16, 0) << type;
    EXPECT_FALSE(FindDevice(type)->device.supports_flash_attention) << type;
  }
  EXPECT_EQ(FindDevice("A100-80")->device.peak_flops.fp8, 0);
  EXPECT_GT(FindDevice("H100")->device.peak_flops.fp8, 0);
}

}  // namespace
}  // namespace tangram
