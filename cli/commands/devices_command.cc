#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/efficiency_fields.h"
#include "formats/config/host_fields.h"
#include "formats/config/link_fields.h"
#include "formats/config/nearest_name.h"

namespace tangram {
namespace {

// Returns TFLOP/s; empty for a precision that the device has no units for.
std::string Teraflops(double flops_per_s) {
  return flops_per_s > 0 ? absl::StrFormat("%.0f", flops_per_s / 1e12) : "";
}

void PrintCatalogue(Console& console) {
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
  Table sources({{"GPU"}, {"source"}});
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    sources.AddRow({entry.device.type, entry.source});
  }
  console.out << table.ToString() << "\n"
              << sources.ToString() << "\n"
              << "  tangram devices GPU shows one with the source of every "
                 "value.\n";
}

// A table of key, value and number of the source. The sources follow below the
// table, because they are long and most of them give several values.
class SourcedTable {
 public:
  void Add(absl::string_view key, std::string value,
           const std::string& source) {
    auto it = std::find(sources_.begin(), sources_.end(), source);
    if (it == sources_.end()) it = sources_.insert(it, source);
    table_.AddRow({std::string(key), std::move(value),
                   absl::StrCat("[", it - sources_.begin() + 1, "]")});
  }

  std::string ToString(int width) const {
    std::string text = table_.ToString() + "\n";
    for (size_t i = 0; i < sources_.size(); ++i) {
      text += WrapText(absl::StrCat("[", i + 1, "] ", sources_[i]),
                       /*indent=*/2, width);
    }
    return text;
  }

 private:
  Table table_{{{"field"}, {"value"}, {"source"}}};
  std::vector<std::string> sources_;
};

// Prints every value of a device under the name that cluster files use.
void PrintDevice(const CatalogueDevice& entry, Console& console) {
  const DeviceSpec& device = entry.device;
  SourcedTable table;
  const auto add_peak = [&](const char* key, double flops_per_s) {
    if (flops_per_s == 0) return;
    table.Add(absl::StrCat("peak_tflops.", key),
              FormatQuantity(flops_per_s, Dimension::kFlops), entry.source);
  };
  add_peak("fp32", device.peak_flops.fp32);
  add_peak("fp16", device.peak_flops.fp16);
  add_peak("bf16", device.peak_flops.bf16);
  add_peak("fp8", device.peak_flops.fp8);
  table.Add("memory", FormatQuantity(device.memory_bytes, Dimension::kBytes),
            entry.source);
  table.Add("memory_bandwidth",
            FormatQuantity(device.memory_bandwidth_bytes_per_s,
                           Dimension::kBandwidth),
            entry.source);
  table.Add("flash_attention",
            device.supports_flash_attention ? "true" : "false", entry.source);
  table.Add("collective_library",
            std::string(CollectiveLibraryName(device.collective_library)),
            entry.source);
  table.Add("gpus_per_node", absl::StrCat(entry.gpus_per_node), entry.source);
  table.Add("intra_node", FormatLink(entry.intra_node),
            entry.intra_node_source);
  table.Add("inter_node", FormatLink(entry.inter_node),
            entry.inter_node_source);
  table.Add("host", FormatHost(device.host), entry.host_source);
  for (size_t i = 0; i < EfficiencyFields().size(); ++i) {
    const EfficiencyField& constant = EfficiencyFields()[i];
    table.Add(absl::StrCat("efficiency.", constant.key),
              FormatConstant(device.efficiency.*constant.value, constant),
              entry.efficiency_sources[i]);
  }
  console.out << Styled(console, Style::kBold, device.type);
  if (!entry.aliases.empty()) {
    console.out << ", also " << absl::StrJoin(entry.aliases, ", ");
  }
  console.out << "\n\n" << table.ToString(console.width);
}

absl::Status UnknownDevice(const std::string& name) {
  std::vector<absl::string_view> types;
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    types.push_back(entry.device.type);
  }
  const absl::string_view nearest = NearestName(name, types);
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": not in the catalogue; ",
      nearest.empty()
          ? absl::StrCat("expected one of ", absl::StrJoin(types, ", "))
          : absl::StrCat("did you mean ", nearest, "?")));
}

}  // namespace

CommandResult Run(const DevicesOptions& options, Console& console) {
  if (options.device.empty()) {
    PrintCatalogue(console);
    return ExitCode::kOk;
  }
  const CatalogueDevice* entry = FindDevice(options.device);
  if (entry == nullptr) return UnknownDevice(options.device);
  PrintDevice(*entry, console);
  return ExitCode::kOk;
}

}  // namespace tangram
