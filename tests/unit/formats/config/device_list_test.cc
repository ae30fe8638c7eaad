#include "formats/config/device_list.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/config/efficiency_fields.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kBlocks[] = R"(
efficiency:
  - name: all
    source: handbook
    gemm_max_fraction: 0.7
    gemm_half_flops: 2e9
    attention_fraction: 0.5
    memory_fraction: {value: 0.8, source: measured}
    kernel_launch: 4 us
    host_launch: 9 us
    unaligned_penalty: 0.2
    odd_penalty: 0.5
    overlap_penalty: 0.1
    copy_penalty: 0.02
    duplex_penalty: 0.2
    reserved_memory: 1 GB
    fragmentation: 0.1
  - name: newer
    like: all
    source: guess
    attention_fraction: 0.6
)";

constexpr char kDevice[] = R"(
  - gpu: X1
    aliases: [XPU One]
    source: datasheet
    peak_tflops: {fp32: 10, fp16: 50}
    memory: 16 GB
    memory_bandwidth: 500 GB/s
    flash_attention: true
    host: {bandwidth: 12 GB/s, memory: 64 GB, source: board}
    efficiency: {like: newer, gemm_max_fraction: 0.75, source: fitted}
    gpus_per_node: 4
    intra_node: {bandwidth: 5 GB/s, pair_bandwidth: 6 GB/s, latency: 10 us, source: PCIe}
    inter_node: {bandwidth: 2 GB/s, pair_bandwidth: 1 GB/s, latency: 50 us, source: Ethernet}
)";

std::string OneDevice() { return absl::StrCat(kBlocks, "devices:", kDevice); }

absl::Status StatusAfter(absl::string_view from, absl::string_view to) {
  const std::string text = OneDevice();
  EXPECT_THAT(text, HasSubstr(std::string(from)));
  return ParseDevices(absl::StrReplaceAll(text, {{from, to}}), "f").status();
}

std::string SourceOf(absl::string_view key, const CatalogueDevice& device) {
  for (size_t i = 0; i < EfficiencyFields().size(); ++i) {
    if (EfficiencyFields()[i].key == key) return device.efficiency_sources[i];
  }
  return "no such constant";
}

TEST(ParseDevicesTest, ReadsDatasheetNodeAndLinks) {
  ASSERT_OK_AND_ASSIGN(const auto devices, ParseDevices(OneDevice(), "f"));

  ASSERT_THAT(devices, SizeIs(1));
  const CatalogueDevice& x1 = devices[0];
  EXPECT_EQ(x1.device.type, "X1");
  EXPECT_THAT(x1.aliases, ElementsAre("XPU One"));
  EXPECT_EQ(x1.device.peak_flops, (PeakFlops{.fp32 = 10e12, .fp16 = 50e12}));
  EXPECT_EQ(x1.device.memory_bytes, 16e9);
  EXPECT_EQ(x1.device.memory_bandwidth_bytes_per_s, 500e9);
  EXPECT_EQ(x1.device.host, (HostLink{12e9, 64e9}));
  EXPECT_EQ(x1.host_source, "board");
  EXPECT_TRUE(x1.device.supports_flash_attention);
  EXPECT_EQ(x1.gpus_per_node, 4);
  EXPECT_EQ(x1.intra_node, (Link{5e9, 6e9, 10e-6}));
  EXPECT_EQ(x1.inter_node, (Link{2e9, 1e9, 50e-6}));
  EXPECT_EQ(x1.source, "datasheet");
  EXPECT_EQ(x1.intra_node_source, "PCIe");
  EXPECT_EQ(x1.inter_node_source, "Ethernet");
}

TEST(ParseDevicesTest, TheNearestConstantHoldsWithItsSource) {
  ASSERT_OK_AND_ASSIGN(const auto devices, ParseDevices(OneDevice(), "f"));

  const DeviceEfficiency& efficiency = devices[0].device.efficiency;
  EXPECT_EQ(efficiency.gemm_max_fraction, 0.75);  // From the device.
  EXPECT_EQ(efficiency.gemm_half_flops, 2e9);     // From `all`.
  EXPECT_EQ(efficiency.attention_fraction, 0.6);  // From `newer`.
  EXPECT_EQ(efficiency.memory_fraction, 0.8);
  EXPECT_EQ(efficiency.kernel_launch_s, 4e-6);
  EXPECT_EQ(efficiency.reserved_bytes, 1e9);
  EXPECT_EQ(efficiency.fragmentation, 0.1);
  EXPECT_EQ(SourceOf("gemm_max_fraction", devices[0]), "fitted");
  EXPECT_EQ(SourceOf("gemm_half_flops", devices[0]), "handbook");
  EXPECT_EQ(SourceOf("attention_fraction", devices[0]), "guess");
  EXPECT_EQ(SourceOf("memory_fraction", devices[0]), "measured");
  EXPECT_EQ(SourceOf("fragmentation", devices[0]), "handbook");
}

TEST(ParseDevicesTest, AConstantNeedsASource) {
  EXPECT_THAT(
      StatusAfter("0.75, source: fitted", "0.75"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("f: devices[0].efficiency.source: missing; expected "
                         "where the value is from")));
  EXPECT_THAT(
      StatusAfter(", source: measured", ""),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("efficiency[0].memory_fraction.source: missing")));
  EXPECT_THAT(StatusAfter(", source: PCIe", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("devices[0].intra_node.source: missing")));
}

TEST(ParseDevicesTest, AConstantThatNobodyGivesIsAnError) {
  EXPECT_THAT(StatusAfter("    fragmentation: 0.1\n", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("devices[0].efficiency.fragmentation: "
                                 "missing; expected a value, here or in the "
                                 "block that it is like")));
}

TEST(ParseDevicesTest, NothingIsAssumed) {
  for (const char* line :
       {"    memory: 16 GB\n", "    memory_bandwidth: 500 GB/s\n",
        "    flash_attention: true\n", "    gpus_per_node: 4\n",
        " pair_bandwidth: 6 GB/s,", " latency: 50 us,", " memory: 64 GB,",
        "bandwidth: 12 GB/s, "}) {
    EXPECT_THAT(
        StatusAfter(line, ""),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("missing")))
        << line;
  }
}

TEST(ParseDevicesTest, ABlockIsLikeAnEarlierOne) {
  EXPECT_THAT(StatusAfter("like: all", "like: newer"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("efficiency[1].like: newer; expected the name "
                                 "of an efficiency block further up")));
}

TEST(ParseDevicesTest, ValuesAreBounded) {
  EXPECT_THAT(StatusAfter("pair_bandwidth: 1 GB/s", "pair_bandwidth: 3 GB/s"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("devices[0].inter_node.pair_bandwidth: 3 "
                                 "GB/s; expected at most the bandwidth")));
  EXPECT_THAT(StatusAfter("value: 0.8", "value: 1.2"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("efficiency[0].memory_fraction.value: 1.2; "
                                 "expected a number from 0.001 to 1")));
}

TEST(ParseDevicesTest, NamesAreUniqueInAnyCase) {
  EXPECT_THAT(
      ParseDevices(absl::StrCat(OneDevice(), absl::StrReplaceAll(
                                                 kDevice, {{"X1", "xpu one"}})),
                   "f"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("devices[1].gpu: xpu one; expected a name that no "
                         "device has yet")));
  EXPECT_THAT(StatusAfter("[XPU One]", "[XPU One, x1]"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("devices[0].aliases[1]: x1; expected")));
}

}  // namespace
}  // namespace tangram
