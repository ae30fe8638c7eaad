#include "formats/config/efficiency_fields.h"

#include "absl/strings/str_cat.h"
#include "common/domain/figure_limits.h"

namespace tangram {
namespace {

constexpr EfficiencyField kFields[] = {
    {"gemm_max_fraction", &DeviceEfficiency::gemm_max_fraction, std::nullopt,
     kLeastEfficiency},
    {"gemm_half_flops", &DeviceEfficiency::gemm_half_flops, std::nullopt, 0,
     kMaxGemmHalfFlops},
    {"attention_fraction", &DeviceEfficiency::attention_fraction, std::nullopt,
     kLeastEfficiency},
    {"memory_fraction", &DeviceEfficiency::memory_fraction, std::nullopt,
     kLeastEfficiency},
    {"kernel_launch", &DeviceEfficiency::kernel_launch_s, Dimension::kSeconds},
    {"host_launch", &DeviceEfficiency::host_launch_s, Dimension::kSeconds},
    {"unaligned_penalty", &DeviceEfficiency::unaligned_penalty, std::nullopt, 0,
     kMaxPenalty},
    {"odd_penalty", &DeviceEfficiency::odd_penalty, std::nullopt, 0,
     kMaxPenalty},
    {"overlap_penalty", &DeviceEfficiency::overlap_penalty, std::nullopt, 0,
     kMaxPenalty},
    {"copy_penalty", &DeviceEfficiency::copy_penalty, std::nullopt, 0,
     kMaxPenalty},
    {"duplex_penalty", &DeviceEfficiency::duplex_penalty, std::nullopt, 0,
     kMaxPenalty},
    {"reserved_memory", &DeviceEfficiency::reserved_bytes, Dimension::kBytes},
    {"fragmentation", &DeviceEfficiency::fragmentation, std::nullopt}};

}  // namespace

absl::Span<const EfficiencyField> EfficiencyFields() { return kFields; }

std::vector<absl::string_view> EfficiencyKeys() {
  std::vector<absl::string_view> keys;
  for (const EfficiencyField& constant : kFields) keys.push_back(constant.key);
  return keys;
}

absl::StatusOr<double> ReadConstant(const ConfigField& field,
                                    const EfficiencyField& constant) {
  return constant.dimension.has_value()
             ? field.AsQuantity(*constant.dimension)
             : field.AsNumber(constant.min, constant.max);
}

std::string FormatConstant(double value, const EfficiencyField& constant) {
  return constant.dimension.has_value()
             ? FormatQuantity(value, *constant.dimension)
             : absl::StrCat(value);
}

}  // namespace tangram
