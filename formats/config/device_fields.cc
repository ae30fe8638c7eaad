#include "formats/config/device_fields.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/attach_profile_files.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/efficiency_fields.h"
#include "formats/config/host_fields.h"
#include "formats/config/nearest_name.h"

namespace tangram {
namespace {

constexpr absl::string_view kDeviceKeys[] = {"memory",
                                             "memory_bandwidth",
                                             "peak_tflops",
                                             "flash_attention",
                                             "collective_library",
                                             "host",
                                             "efficiency",
                                             "profile"};
constexpr absl::string_view kNotGiven = "not given";

std::string Path(const ConfigField& fields, absl::string_view key) {
  return absl::StrCat(fields.path(), ".", key);
}

std::vector<absl::string_view> KnownTypes() {
  std::vector<absl::string_view> types;
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    types.push_back(entry.device.type);
  }
  return types;
}

std::string TypesInCatalogue() { return absl::StrJoin(KnownTypes(), ", "); }

// Requires the three datasheet numbers of a device that the catalogue lacks.
absl::Status CheckDescribed(const ConfigField& fields,
                            const std::string& type) {
  for (const absl::string_view key :
       {"peak_tflops", "memory", "memory_bandwidth"}) {
    if (fields.Find(key).has_value()) continue;
    return fields.MissingError(
        key,
        absl::StrCat("a value, since GPU type ", type,
                     " is not in the catalogue", DidYouMean(type, KnownTypes()),
                     "; known types: ", TypesInCatalogue()));
  }
  return absl::OkStatus();
}

// Reads one quantity of the device, or else takes it from the catalogue.
absl::Status ReadOne(const ConfigField& fields, absl::string_view key,
                     Dimension dimension, const CatalogueDevice* known,
                     double& value, std::vector<Assumption>& assumptions) {
  if (const std::optional<ConfigField> field = fields.Find(key)) {
    TANGRAM_ASSIGN_OR_RETURN(value, field->AsQuantity(dimension));
  } else if (known != nullptr) {
    assumptions.push_back({Path(fields, key), FormatQuantity(value, dimension),
                           CatalogueSource(*known)});
  }
  return absl::OkStatus();
}

absl::Status ReadPeakFlops(const ConfigField& fields,
                           const CatalogueDevice* known, PeakFlops& peak,
                           std::vector<Assumption>& assumptions) {
  constexpr absl::string_view kKeys[] = {"fp32", "fp16", "bf16", "fp8"};
  double* const values[] = {&peak.fp32, &peak.fp16, &peak.bf16, &peak.fp8};
  const std::optional<ConfigField> field = fields.Find("peak_tflops");
  if (field.has_value()) TANGRAM_RETURN_IF_ERROR(field->CheckKeys(kKeys));
  for (int i = 0; i < 4; ++i) {
    const auto given = field.has_value() ? field->Find(kKeys[i]) : std::nullopt;
    if (given.has_value()) {
      TANGRAM_ASSIGN_OR_RETURN(*values[i],
                               given->AsQuantity(Dimension::kFlops, 1e12));
      continue;
    }
    // A precision for which the device has no units needs no mention.
    if (known != nullptr && *values[i] == 0) continue;
    assumptions.push_back(
        {absl::StrCat(fields.path(), ".peak_tflops.", kKeys[i]),
         known == nullptr ? "none"
                          : FormatQuantity(*values[i], Dimension::kFlops),
         known == nullptr ? std::string(kNotGiven) : CatalogueSource(*known)});
  }
  if (known == nullptr && peak == PeakFlops{}) {
    return field->Error("at least one of fp32, fp16, bf16, fp8");
  }
  return absl::OkStatus();
}

// Without the field, the library of the catalogue stays, or NCCL.
absl::Status ReadCollectiveLibrary(const ConfigField& fields,
                                   CollectiveLibrary& library) {
  const std::optional<ConfigField> field = fields.Find("collective_library");
  if (!field.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, field->AsName());
  for (int i = 0; i < kNumCollectiveLibraries; ++i) {
    library = static_cast<CollectiveLibrary>(i);
    if (name == CollectiveLibraryName(library)) return absl::OkStatus();
  }
  return field->Error("one of nccl, rccl, hccl, oneccl");
}

absl::Status ReadEfficiency(const ConfigField& fields,
                            const CatalogueDevice* known,
                            DeviceEfficiency& efficiency,
                            std::vector<Assumption>& assumptions) {
  const std::optional<ConfigField> mapping = fields.Find("efficiency");
  if (mapping.has_value()) {
    TANGRAM_RETURN_IF_ERROR(mapping->CheckKeys(EfficiencyKeys()));
  }
  std::vector<std::string> assumed;
  for (const EfficiencyField& constant : EfficiencyFields()) {
    double& value = efficiency.*constant.value;
    const auto given =
        mapping.has_value() ? mapping->Find(constant.key) : std::nullopt;
    if (!given.has_value()) {
      assumed.push_back(
          absl::StrCat(constant.key, " ", FormatConstant(value, constant)));
      continue;
    }
    TANGRAM_ASSIGN_OR_RETURN(value, ReadConstant(*given, constant));
  }
  if (assumed.empty()) return absl::OkStatus();
  assumptions.push_back(
      {Path(fields, "efficiency"), absl::StrJoin(assumed, ", "),
       known == nullptr ? "general defaults" : CatalogueSource(*known)});
  return absl::OkStatus();
}

}  // namespace

absl::Span<const absl::string_view> DeviceKeys() { return kDeviceKeys; }

std::string CatalogueSource(const CatalogueDevice& known) {
  return absl::StrCat("catalogue: ", known.device.type);
}

absl::StatusOr<DeviceSpec> ReadDatasheet(const ConfigField& fields,
                                         const std::string& type,
                                         const CatalogueDevice* known,
                                         std::vector<Assumption>& assumptions) {
  DeviceSpec device;
  if (known != nullptr) {
    device = known->device;
  } else {
    TANGRAM_RETURN_IF_ERROR(CheckDescribed(fields, type));
    device.type = type;
  }
  TANGRAM_RETURN_IF_ERROR(
      ReadPeakFlops(fields, known, device.peak_flops, assumptions));
  TANGRAM_RETURN_IF_ERROR(ReadOne(fields, "memory", Dimension::kBytes, known,
                                  device.memory_bytes, assumptions));
  TANGRAM_RETURN_IF_ERROR(
      ReadOne(fields, "memory_bandwidth", Dimension::kBandwidth, known,
              device.memory_bandwidth_bytes_per_s, assumptions));
  if (const auto field = fields.Find("flash_attention")) {
    TANGRAM_ASSIGN_OR_RETURN(device.supports_flash_attention, field->AsBool());
  } else if (known == nullptr && device.peak_flops.bf16 > 0) {
    // NVIDIA's and AMD's units for bf16 and the fused kernels came together.
    device.supports_flash_attention = true;
    assumptions.push_back({Path(fields, "flash_attention"), "true",
                           "assumed: it has bf16 units"});
  } else {
    assumptions.push_back(
        {Path(fields, "flash_attention"),
         device.supports_flash_attention ? "true" : "false",
         known == nullptr ? std::string(kNotGiven) : CatalogueSource(*known)});
  }
  TANGRAM_RETURN_IF_ERROR(
      ReadCollectiveLibrary(fields, device.collective_library));
  return device;
}

absl::StatusOr<DeviceSpec> ReadDevice(const ConfigField& fields,
                                      const std::string& type,
                                      const CatalogueDevice* known,
                                      std::vector<Assumption>& assumptions) {
  TANGRAM_ASSIGN_OR_RETURN(DeviceSpec device,
                           ReadDatasheet(fields, type, known, assumptions));
  if (known == nullptr) {
    device.efficiency = GeneralEfficiency(device.peak_flops,
                                          device.memory_bandwidth_bytes_per_s);
  }
  TANGRAM_RETURN_IF_ERROR(
      ReadEfficiency(fields, known, device.efficiency, assumptions));
  TANGRAM_ASSIGN_OR_RETURN(
      device.host,
      ReadOptionalHost(fields,
                       known == nullptr
                           ? HostDefault{{}, std::string(kNotGiven)}
                           : HostDefault{device.host, CatalogueSource(*known)},
                       assumptions));
  TANGRAM_RETURN_IF_ERROR(AttachNamedProfiles(fields, device));
  return device;
}

}  // namespace tangram
