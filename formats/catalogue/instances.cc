#include "formats/catalogue/instances.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace tangram {
namespace {

// From the pages of the clouds: AWS, "Amazon EC2 accelerated computing
// instances"; Azure, "GPU accelerated virtual machine sizes"; Google Cloud,
// "GPU machine types"; Oracle, "Compute shapes". Rates that are "up to" count
// in full. The network of a Google machine is that of its GPUs where it has
// one.
constexpr CloudInstance kInstances[] = {
    {"g4dn.12xlarge", "AWS", "T4", 4, 1, 50, "Ethernet", false},
    {"g4dn.16xlarge", "AWS", "T4", 1, 1, 50, "Ethernet", false},
    {"g4dn.2xlarge", "AWS", "T4", 1, 1, 25, "Ethernet", false},
    {"g4dn.4xlarge", "AWS", "T4", 1, 1, 25, "Ethernet", false},
    {"g4dn.8xlarge", "AWS", "T4", 1, 1, 50, "Ethernet", false},
    {"g4dn.metal", "AWS", "T4", 8, 1, 100, "Ethernet", false},
    {"g4dn.xlarge", "AWS", "T4", 1, 1, 25, "Ethernet", false},
    {"g5.12xlarge", "AWS", "A10G", 4, 1, 40, "Ethernet", false},
    {"g5.16xlarge", "AWS", "A10G", 1, 1, 25, "Ethernet", false},
    {"g5.24xlarge", "AWS", "A10G", 4, 1, 50, "Ethernet", false},
    {"g5.2xlarge", "AWS", "A10G", 1, 1, 10, "Ethernet", false},
    {"g5.48xlarge", "AWS", "A10G", 8, 1, 100, "Ethernet", false},
    {"g5.4xlarge", "AWS", "A10G", 1, 1, 25, "Ethernet", false},
    {"g5.8xlarge", "AWS", "A10G", 1, 1, 25, "Ethernet", false},
    {"g5.xlarge", "AWS", "A10G", 1, 1, 10, "Ethernet", false},
    {"g6.12xlarge", "AWS", "L4", 4, 1, 40, "Ethernet", false},
    {"g6.16xlarge", "AWS", "L4", 1, 1, 25, "Ethernet", false},
    {"g6.24xlarge", "AWS", "L4", 4, 1, 50, "Ethernet", false},
    {"g6.2xlarge", "AWS", "L4", 1, 1, 10, "Ethernet", false},
    {"g6.48xlarge", "AWS", "L4", 8, 1, 100, "Ethernet", false},
    {"g6.4xlarge", "AWS", "L4", 1, 1, 25, "Ethernet", false},
    {"g6.8xlarge", "AWS", "L4", 1, 1, 25, "Ethernet", false},
    {"g6.xlarge", "AWS", "L4", 1, 1, 10, "Ethernet", false},
    {"g6e.12xlarge", "AWS", "L40S", 4, 1, 100, "Ethernet", false},
    {"g6e.16xlarge", "AWS", "L40S", 1, 1, 35, "Ethernet", false},
    {"g6e.24xlarge", "AWS", "L40S", 4, 1, 200, "Ethernet", false},
    {"g6e.2xlarge", "AWS", "L40S", 1, 1, 20, "Ethernet", false},
    {"g6e.48xlarge", "AWS", "L40S", 8, 1, 400, "Ethernet", false},
    {"g6e.4xlarge", "AWS", "L40S", 1, 1, 20, "Ethernet", false},
    {"g6e.8xlarge", "AWS", "L40S", 1, 1, 25, "Ethernet", false},
    {"g6e.xlarge", "AWS", "L40S", 1, 1, 20, "Ethernet", false},
    {"g7e.12xlarge", "AWS", "RTX-PRO-6000", 2, 1, 400, "Ethernet", false},
    {"g7e.24xlarge", "AWS", "RTX-PRO-6000", 4, 1, 800, "Ethernet", false},
    {"g7e.48xlarge", "AWS", "RTX-PRO-6000", 8, 1, 1600, "Ethernet", false},
    {"p2.16xlarge", "AWS", "K80", 16, 1, 25, "Ethernet", false},
    {"p2.8xlarge", "AWS", "K80", 8, 1, 10, "Ethernet", false},
    {"p2.xlarge", "AWS", "K80", 1, 1, 10, "Ethernet", false},
    {"p3.16xlarge", "AWS", "V100-16-SXM2", 8, 1, 25, "Ethernet", false},
    {"p3.2xlarge", "AWS", "V100-16-SXM2", 1, 1, 10, "Ethernet", false},
    {"p3.8xlarge", "AWS", "V100-16-SXM2", 4, 1, 10, "Ethernet", false},
    {"p3dn.24xlarge", "AWS", "V100-32", 8, 1, 100, "EFA", true},
    {"p4d.24xlarge", "AWS", "A100-40", 8, 4, 100, "EFA", true},
    {"p4de.24xlarge", "AWS", "A100-80", 8, 4, 100, "EFA", true},
    {"p5.48xlarge", "AWS", "H100", 8, 32, 100, "EFA", true},
    {"p5.4xlarge", "AWS", "H100", 1, 1, 100, "EFA", true},
    {"p5e.48xlarge", "AWS", "H200", 8, 32, 100, "EFA", true},
    {"p5en.48xlarge", "AWS", "H200", 8, 16, 200, "EFA", true},
    {"p6-b200.48xlarge", "AWS", "B200", 8, 8, 400, "EFA", true},
    {"p6-b300.48xlarge", "AWS", "B300", 8, 16, 400, "EFA", true},
    {"Standard_NC12s_v3", "Azure", "V100-16", 2, 1, 12, "Ethernet", false},
    {"Standard_NC16as_T4_v3", "Azure", "T4", 1, 1, 8, "Ethernet", false},
    {"Standard_NC24ads_A100_v4", "Azure", "A100-80-PCIe", 1, 1, 20, "Ethernet",
     false},
    {"Standard_NC24rs_v3", "Azure", "V100-16", 4, 1, 56, "InfiniBand", true},
    {"Standard_NC24s_v3", "Azure", "V100-16", 4, 1, 24, "Ethernet", false},
    {"Standard_NC40ads_H100_v5", "Azure", "H100-NVL", 1, 1, 40, "Ethernet",
     false},
    {"Standard_NC48ads_A100_v4", "Azure", "A100-80-PCIe", 2, 1, 40, "Ethernet",
     false},
    {"Standard_NC4as_T4_v3", "Azure", "T4", 1, 1, 8, "Ethernet", false},
    {"Standard_NC64as_T4_v3", "Azure", "T4", 4, 1, 32, "Ethernet", false},
    {"Standard_NC6s_v3", "Azure", "V100-16", 1, 1, 6, "Ethernet", false},
    {"Standard_NC80adis_H100_v5", "Azure", "H100-NVL", 2, 1, 80, "Ethernet",
     false},
    {"Standard_NC8as_T4_v3", "Azure", "T4", 1, 1, 8, "Ethernet", false},
    {"Standard_NC96ads_A100_v4", "Azure", "A100-80-PCIe", 4, 1, 80, "Ethernet",
     false},
    {"Standard_ND40rs_v2", "Azure", "V100-32", 8, 1, 100, "InfiniBand", true},
    {"Standard_ND96amsr_A100_v4", "Azure", "A100-80", 8, 8, 200, "InfiniBand",
     true},
    {"Standard_ND96asr_v4", "Azure", "A100-40", 8, 8, 200, "InfiniBand", true},
    {"Standard_ND96isr_H100_v5", "Azure", "H100", 8, 8, 400, "InfiniBand",
     true},
    {"Standard_ND96isr_H200_v5", "Azure", "H200", 8, 8, 400, "InfiniBand",
     true},
    {"Standard_ND96isr_MI300X_v5", "Azure", "MI300X", 8, 8, 400, "InfiniBand",
     true},
    {"a2-highgpu-1g", "Google Cloud", "A100-40", 1, 1, 24, "Ethernet", false},
    {"a2-highgpu-2g", "Google Cloud", "A100-40", 2, 1, 32, "Ethernet", false},
    {"a2-highgpu-4g", "Google Cloud", "A100-40", 4, 1, 50, "Ethernet", false},
    {"a2-highgpu-8g", "Google Cloud", "A100-40", 8, 1, 100, "Ethernet", false},
    {"a2-megagpu-16g", "Google Cloud", "A100-40", 16, 1, 100, "Ethernet",
     false},
    {"a2-ultragpu-1g", "Google Cloud", "A100-80", 1, 1, 24, "Ethernet", false},
    {"a2-ultragpu-2g", "Google Cloud", "A100-80", 2, 1, 32, "Ethernet", false},
    {"a2-ultragpu-4g", "Google Cloud", "A100-80", 4, 1, 50, "Ethernet", false},
    {"a2-ultragpu-8g", "Google Cloud", "A100-80", 8, 1, 100, "Ethernet", false},
    {"a3-highgpu-1g", "Google Cloud", "H100", 1, 1, 25, "Ethernet", false},
    {"a3-highgpu-2g", "Google Cloud", "H100", 2, 1, 50, "Ethernet", false},
    {"a3-highgpu-4g", "Google Cloud", "H100", 4, 1, 100, "Ethernet", false},
    {"a3-highgpu-8g", "Google Cloud", "H100", 8, 4, 200, "GPUDirect-TCPX",
     false},
    {"a3-megagpu-8g", "Google Cloud", "H100", 8, 8, 200, "GPUDirect-TCPXO",
     false},
    {"a3-ultragpu-8g", "Google Cloud", "H200", 8, 8, 400, "RoCE", true},
    {"a4-highgpu-8g", "Google Cloud", "B200", 8, 8, 400, "RoCE", true},
    {"g2-standard-12", "Google Cloud", "L4", 1, 1, 16, "Ethernet", false},
    {"g2-standard-16", "Google Cloud", "L4", 1, 1, 32, "Ethernet", false},
    {"g2-standard-24", "Google Cloud", "L4", 2, 1, 32, "Ethernet", false},
    {"g2-standard-32", "Google Cloud", "L4", 1, 1, 32, "Ethernet", false},
    {"g2-standard-4", "Google Cloud", "L4", 1, 1, 10, "Ethernet", false},
    {"g2-standard-48", "Google Cloud", "L4", 4, 1, 50, "Ethernet", false},
    {"g2-standard-8", "Google Cloud", "L4", 1, 1, 16, "Ethernet", false},
    {"g2-standard-96", "Google Cloud", "L4", 8, 1, 100, "Ethernet", false},
    {"BM.GPU.A10.4", "Oracle", "A10", 4, 2, 50, "Ethernet", false},
    {"BM.GPU.A100-v2.8", "Oracle", "A100-80", 8, 16, 100, "RoCE", true},
    {"BM.GPU.B200.8", "Oracle", "B200", 8, 8, 400, "RoCE", true},
    {"BM.GPU.H100.8", "Oracle", "H100", 8, 16, 200, "RoCE", true},
    {"BM.GPU.H200.8", "Oracle", "H200", 8, 8, 400, "RoCE", true},
    {"BM.GPU.L40S.4", "Oracle", "L40S", 4, 4, 200, "RoCE", true},
    {"BM.GPU.MI300X.8", "Oracle", "MI300X", 8, 8, 400, "RoCE", true},
    {"BM.GPU3.8", "Oracle", "V100-16-SXM2", 8, 2, 25, "Ethernet", false},
    {"BM.GPU4.8", "Oracle", "A100-40", 8, 16, 100, "RoCE", true},
    {"VM.GPU.A10.1", "Oracle", "A10", 1, 1, 24, "Ethernet", false},
    {"VM.GPU.A10.2", "Oracle", "A10", 2, 1, 48, "Ethernet", false},
    {"VM.GPU3.1", "Oracle", "V100-16-SXM2", 1, 1, 4.1, "Ethernet", false},
    {"VM.GPU3.2", "Oracle", "V100-16-SXM2", 2, 1, 8.2, "Ethernet", false},
    {"VM.GPU3.4", "Oracle", "V100-16-SXM2", 4, 1, 24.6, "Ethernet", false},
};

}  // namespace

absl::Span<const CloudInstance> CloudInstances() { return kInstances; }

const CloudInstance* FindInstance(absl::string_view name) {
  for (const CloudInstance& instance : kInstances) {
    // Azure's pages leave its prefix out.
    if (absl::EqualsIgnoreCase(instance.name, name) ||
        absl::EqualsIgnoreCase(absl::StripPrefix(instance.name, "Standard_"),
                               name)) {
      return &instance;
    }
  }
  return nullptr;
}

}  // namespace tangram
