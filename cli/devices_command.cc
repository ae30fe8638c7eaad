#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/table.h"
#include "common/catalogue/devices.h"

namespace tangram {
namespace {

// Empty for a precision that the device has no units for.
std::string Teraflops(double flops_per_s) {
  return flops_per_s > 0 ? absl::StrFormat("%.0f", flops_per_s / 1e12) : "";
}

}  // namespace

CommandResult Run(const DevicesOptions& /*options*/, Console& console) {
  Table table({{"GPU"},
               {"fp16 TFLOP/s", Table::kRight},
               {"bf16", Table::kRight},
               {"fp8", Table::kRight},
               {"memory", Table::kRight},
               {"bandwidth", Table::kRight},
               {"flash"},
               {"a node", Table::kRight},
               {"inside node", Table::kRight},
               {"between", Table::kRight}});
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    const DeviceSpec& device = entry.device;
    table.AddRow({device.type, Teraflops(device.peak_flops.fp16),
                  Teraflops(device.peak_flops.bf16),
                  Teraflops(device.peak_flops.fp8),
                  FormatBytes(device.memory_bytes),
                  FormatBandwidth(device.memory_bandwidth_bytes_per_s),
                  device.supports_flash_attention ? "yes" : "",
                  absl::StrCat(entry.gpus_per_node),
                  FormatBandwidth(entry.intra_node.bandwidth_bytes_per_s),
                  FormatBandwidth(entry.inter_node.bandwidth_bytes_per_s)});
  }
  console.out << table.ToString();
  return ExitCode::kOk;
}

}  // namespace tangram
