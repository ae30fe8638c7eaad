#include "common/catalogue/devices.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace tangram {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kMebibyte = 1 << 20;
constexpr double kMicro = 1e-6;

// Most reserved over allocated bytes of Megatron-LM runs lie 3 to 18 % apart.
constexpr double kFragmentation = 0.08;

// Datasheet figures, dense. `memory_mib` is what the driver reports as total,
// a few per cent less than the marketed size.
struct Datasheet {
  const char* type;
  PeakFlops peak_tflops;
  double memory_mib;
  double memory_gb_per_s;
  bool flash_attention;  // FlashAttention-2 needs compute capability 8.0.
};

// How a generation runs, see DeviceEfficiency. "Fitted": least median error
// over published operator profiles of Megatron GPT layers (SuperScaler, Sailor,
// Mist), forward passes, fp16. "Assumed": after the nearest fitted one, bounded
// by the best matrix product that stas00/ml-engineering measured.
struct Generation {
  double gemm_max_fraction;
  double gemm_half_flops;
  double attention_fraction;
  double memory_fraction;
  double reserved_gb;
};
// Assumed: at 70 W the clock drops; 20 to 30 TFLOP/s are sustained.
constexpr Generation kTuring = {0.46, 2e9, 0.5, 0.75, 1.0};
constexpr Generation kVolta = {0.74, 4e9, 0.45, 0.75, 1.1};         // Fitted.
constexpr Generation kVoltaPcie = {0.64, 4e9, 0.45, 0.75, 1.1};     // Assumed.
constexpr Generation kAmpere = {0.82, 10e9, 0.6, 0.75, 1.6};        // Fitted.
constexpr Generation kAmperePcie = {0.75, 10e9, 0.6, 0.75, 1.6};    // Assumed.
constexpr Generation kA10g = {0.97, 3e9, 0.6, 0.75, 1.0};           // Fitted.
constexpr Generation kGeForceAmpere = {0.95, 3e9, 0.6, 0.75, 1.0};  // Fitted.
constexpr Generation kL4 = {0.45, 1e9, 0.6, 0.75, 1.0};             // Fitted.
constexpr Generation kAda = {0.6, 5e9, 0.6, 0.75, 1.2};             // Assumed.
constexpr Generation kGeForceAda = {0.9, 5e9, 0.6, 0.75, 1.0};      // Assumed.
constexpr Generation kHopper = {0.66, 20e9, 0.55, 0.6, 2.0};  // Fitted (GH200).
constexpr Generation kBlackwell = {0.65, 40e9, 0.5, 0.6, 2.0};  // Assumed.
constexpr Generation kCdna3 = {0.42, 20e9, 0.5, 0.6, 2.0};      // Assumed.

DeviceSpec Device(const Datasheet& sheet, const Generation& generation) {
  const PeakFlops& peak = sheet.peak_tflops;
  return {.type = sheet.type,
          .peak_flops = {.fp32 = peak.fp32 * kTera,
                         .fp16 = peak.fp16 * kTera,
                         .bf16 = peak.bf16 * kTera,
                         .fp8 = peak.fp8 * kTera},
          .memory_bytes = sheet.memory_mib * kMebibyte,
          .memory_bandwidth_bytes_per_s = sheet.memory_gb_per_s * kGiga,
          .supports_flash_attention = sheet.flash_attention,
          .efficiency = {.gemm_max_fraction = generation.gemm_max_fraction,
                         .gemm_half_flops = generation.gemm_half_flops,
                         .attention_fraction = generation.attention_fraction,
                         .memory_fraction = generation.memory_fraction,
                         .kernel_launch_s = 5 * kMicro,
                         .reserved_bytes = generation.reserved_gb * kGiga,
                         .fragmentation = kFragmentation}};
}

// Achieved rates, not signalling rates, in GB/s; latency in microseconds.
Link Rates(double gb_per_s, double pair_gb_per_s, double latency_us) {
  return {.bandwidth_bytes_per_s = gb_per_s * kGiga,
          .pair_bandwidth_bytes_per_s = pair_gb_per_s * kGiga,
          .latency_s = latency_us * kMicro};
}

// A node's network: `gbit_per_s` in all, `gbit_per_s_per_gpu` for one GPU.
Link Ethernet(double gbit_per_s) {
  constexpr double kDelivered = 0.9;
  const double gb_per_s = kDelivered * gbit_per_s / 8;
  return Rates(gb_per_s, gb_per_s, 50);
}
Link InfiniBand(double gbit_per_s, double gbit_per_s_per_gpu) {
  constexpr double kDelivered = 0.9;
  return Rates(kDelivered * gbit_per_s / 8, kDelivered * gbit_per_s_per_gpu / 8,
               20);
}

// clang-format off
std::vector<CatalogueDevice> BuildCatalogue() {
  return {
    // Turing.
    {.device = Device({"T4", {.fp32 = 8.1, .fp16 = 65}, 15109, 320, false}, kTuring),
     .aliases = {"Tesla T4", "NVIDIA T4", "T4-16", "T4-16GB"},
     .gpus_per_node = 4, .intra_node = Rates(6, 10, 15), .inter_node = Ethernet(32),
     .source = "NVIDIA T4 datasheet; node: Azure NC64as_T4_v3"},

    // Volta.
    {.device = Device({"V100-16", {.fp32 = 14, .fp16 = 112}, 16160, 900, false}, kVoltaPcie),
     .aliases = {"V100-16-PCIe", "V100-PCIE-16GB", "Tesla V100-PCIE-16GB", "V100-16GB"},
     .gpus_per_node = 4, .intra_node = Rates(8, 11, 15), .inter_node = Ethernet(24),
     .source = "NVIDIA V100 datasheet (PCIe); node: Azure NC24s_v3"},
    {.device = Device({"V100-16-SXM2", {.fp32 = 15.7, .fp16 = 125}, 16160, 900, false}, kVolta),
     .aliases = {"V100-SXM2-16GB", "Tesla V100-SXM2-16GB"},
     .gpus_per_node = 4, .intra_node = Rates(80, 60, 10), .inter_node = Ethernet(10),
     .source = "NVIDIA V100 datasheet (SXM2); links: Sailor profiles; node: AWS p3.8xlarge"},
    {.device = Device({"V100-32", {.fp32 = 15.7, .fp16 = 125}, 32510, 900, false}, kVolta),
     .aliases = {"V100-32-SXM2", "V100-SXM2-32GB", "Tesla V100-SXM2-32GB", "V100-32GB", "V100"},
     .gpus_per_node = 8, .intra_node = Rates(100, 42, 10), .inter_node = InfiniBand(100, 100),
     .source = "NVIDIA V100 datasheet (SXM2); links: Aceso and vTrain profiles; node: Azure ND40rs_v2"},

    // Ampere.
    {.device = Device({"A10G", {.fp32 = 35, .fp16 = 70, .bf16 = 70}, 23028, 600, true}, kA10g),
     .aliases = {"NVIDIA A10G", "A10G-24GB"},
     .gpus_per_node = 4, .intra_node = Rates(10, 12, 15), .inter_node = Ethernet(40),
     .source = "AWS G5 (A10G) figures; node: AWS g5.12xlarge"},
    {.device = Device({"A100-40", {.fp32 = 19.5, .fp16 = 312, .bf16 = 312}, 40536, 1555, true}, kAmpere),
     .aliases = {"A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "A100-40-SXM", "A100-40GB"},
     .gpus_per_node = 8, .intra_node = Rates(230, 230, 10), .inter_node = InfiniBand(1600, 200),
     .source = "NVIDIA A100 datasheet; links: vTrain NCCL tables; node: Azure ND96asr_v4"},
    {.device = Device({"A100-80", {.fp32 = 19.5, .fp16 = 312, .bf16 = 312}, 81251, 2039, true}, kAmpere),
     .aliases = {"A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "A100-80-SXM", "A100-80GB", "A100"},
     .gpus_per_node = 8, .intra_node = Rates(230, 230, 10), .inter_node = InfiniBand(1600, 200),
     .source = "NVIDIA A100 datasheet; links: vTrain NCCL tables; node: Azure ND96amsr_A100_v4"},
    {.device = Device({"A100-80-PCIe", {.fp32 = 19.5, .fp16 = 312, .bf16 = 312}, 81251, 1935, true}, kAmperePcie),
     .aliases = {"A100-PCIE-80GB", "NVIDIA A100 80GB PCIe", "A100 80GB PCIe"},
     .gpus_per_node = 4, .intra_node = Rates(20, 230, 10), .inter_node = Ethernet(80),
     .source = "NVIDIA A100 datasheet (PCIe, NVLink-bridged pairs); node: Azure NC96ads_A100_v4"},
    {.device = Device({"RTX-3090", {.fp32 = 35.6, .fp16 = 71, .bf16 = 71}, 24268, 936, true}, kGeForceAmpere),
     .aliases = {"RTX 3090", "NVIDIA GeForce RTX 3090", "RTX3090"},
     .gpus_per_node = 8, .intra_node = Rates(10, 46, 15), .inter_node = Ethernet(10),
     .source = "NVIDIA GA102 whitepaper (fp32 accumulate); pair link: Sailor profiles"},

    // Ada.
    {.device = Device({"L4", {.fp32 = 30.3, .fp16 = 121, .bf16 = 121, .fp8 = 242}, 23034, 300, true}, kL4),
     .aliases = {"NVIDIA L4", "L4-24GB"},
     .gpus_per_node = 8, .intra_node = Rates(10, 20, 15), .inter_node = Ethernet(100),
     .source = "NVIDIA L4 datasheet; node: PCIe Gen4"},
    {.device = Device({"L40S", {.fp32 = 91.6, .fp16 = 362, .bf16 = 362, .fp8 = 733}, 46068, 864, true}, kAda),
     .aliases = {"NVIDIA L40S", "L40S-48GB"},
     .gpus_per_node = 8, .intra_node = Rates(18, 22, 15), .inter_node = Ethernet(100),
     .source = "NVIDIA L40S datasheet; node: PCIe Gen4"},
    {.device = Device({"RTX-4090", {.fp32 = 82.6, .fp16 = 165.2, .bf16 = 165.2, .fp8 = 330.3}, 24217, 1008, true}, kGeForceAda),
     .aliases = {"RTX 4090", "NVIDIA GeForce RTX 4090", "RTX4090"},
     .gpus_per_node = 8, .intra_node = Rates(8, 12, 20), .inter_node = Ethernet(10),
     .source = "NVIDIA Ada whitepaper (fp32 accumulate); no peer-to-peer"},

    // Hopper.
    {.device = Device({"H100", {.fp32 = 67, .fp16 = 989, .bf16 = 989, .fp8 = 1979}, 81559, 3350, true}, kHopper),
     .aliases = {"H100-SXM", "H100-80", "NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"},
     .gpus_per_node = 8, .intra_node = Rates(360, 360, 10), .inter_node = InfiniBand(3200, 400),
     .source = "NVIDIA H100 datasheet; node: Azure ND96isr_H100_v5"},
    {.device = Device({"H100-NVL", {.fp32 = 60, .fp16 = 835, .bf16 = 835, .fp8 = 1671}, 95830, 3938, true}, kHopper),
     .aliases = {"NVIDIA H100 NVL", "H100 NVL", "H100-NVL-94", "H100-94"},
     .gpus_per_node = 2, .intra_node = Rates(40, 240, 10), .inter_node = Ethernet(80),
     .source = "NVIDIA H100 NVL datasheet (bridged pairs); node: Azure NC80adis_H100_v5"},
    {.device = Device({"H100-PCIe", {.fp32 = 51, .fp16 = 756, .bf16 = 756, .fp8 = 1513}, 81559, 2000, true}, kHopper),
     .aliases = {"NVIDIA H100 PCIe", "H100 PCIe", "H100-PCIE-80GB"},
     .gpus_per_node = 4, .intra_node = Rates(40, 240, 10), .inter_node = Ethernet(200),
     .source = "NVIDIA H100 datasheet (PCIe, bridged pairs)"},
    {.device = Device({"H200", {.fp32 = 67, .fp16 = 989, .bf16 = 989, .fp8 = 1979}, 143771, 4800, true}, kHopper),
     .aliases = {"H200-SXM", "NVIDIA H200", "H200-141"},
     .gpus_per_node = 8, .intra_node = Rates(360, 360, 10), .inter_node = InfiniBand(3200, 400),
     .source = "NVIDIA H200 datasheet"},
    {.device = Device({"GH200", {.fp32 = 67, .fp16 = 989, .bf16 = 989, .fp8 = 1979}, 97871, 4000, true}, kHopper),
     .aliases = {"GH200-96", "NVIDIA GH200 480GB", "GH-96"},
     .gpus_per_node = 4, .intra_node = Rates(300, 115, 10), .inter_node = InfiniBand(800, 200),
     .source = "NVIDIA GH200 datasheet (96 GB); pair link: Sailor profiles"},

    // Blackwell.
    {.device = Device({"B200", {.fp32 = 80, .fp16 = 2250, .bf16 = 2250, .fp8 = 4500}, 183359, 8000, true}, kBlackwell),
     .aliases = {"NVIDIA B200", "B200-180", "B200-SXM"},
     .gpus_per_node = 8, .intra_node = Rates(720, 720, 10), .inter_node = InfiniBand(3200, 400),
     .source = "NVIDIA B200 datasheet"},
    {.device = Device({"GB200", {.fp32 = 80, .fp16 = 2500, .bf16 = 2500, .fp8 = 5000}, 189471, 8000, true}, kBlackwell),
     .aliases = {"NVIDIA GB200", "GB200-186", "GB200-NVL72"},
     .gpus_per_node = 4, .intra_node = Rates(720, 720, 10), .inter_node = Rates(2880, 720, 10),
     .source = "NVIDIA GB200 datasheet; between nodes: NVLink of one NVL72 rack"},

    // CDNA3.
    {.device = Device({"MI300X", {.fp32 = 163.4, .fp16 = 1307.4, .bf16 = 1307.4, .fp8 = 2614.9}, 196592, 5300, true}, kCdna3),
     .aliases = {"AMD Instinct MI300X", "AMD MI300X", "MI300X-192"},
     .gpus_per_node = 8, .intra_node = Rates(310, 48, 15), .inter_node = InfiniBand(3200, 400),
     .source = "AMD MI300X datasheet"},
  };
}
// clang-format on

}  // namespace

absl::Span<const CatalogueDevice> DeviceCatalogue() {
  // Never destroyed, so that it may be read during exit.
  static const auto& catalogue =
      *new std::vector<CatalogueDevice>(BuildCatalogue());
  return catalogue;
}

const CatalogueDevice* FindDevice(absl::string_view type) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    if (absl::EqualsIgnoreCase(entry.device.type, type)) return &entry;
    const bool named = std::any_of(entry.aliases.begin(), entry.aliases.end(),
                                   [type](const std::string& alias) {
                                     return absl::EqualsIgnoreCase(alias, type);
                                   });
    if (named) return &entry;
  }
  return nullptr;
}

}  // namespace tangram
