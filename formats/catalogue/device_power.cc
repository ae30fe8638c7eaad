#include "formats/catalogue/device_power.h"

#include <algorithm>
#include <iterator>

namespace tangram {
namespace {

// About 50 W of the 400 W of an A100, 90 W of the 700 W of an H100.
constexpr double kIdleShare = 1.0 / 8;

struct BoardPower {
  absl::string_view type;
  double watts;
};

// Board powers of the vendors' datasheets.
constexpr BoardPower kBoardPowers[] = {
    {"T4", 70},
    {"RTX-2080-Ti", 250},
    {"Titan-RTX", 280},
    {"V100-16", 300},
    {"V100-16-SXM2", 300},
    {"V100-32-PCIe", 250},
    {"V100-32", 300},
    {"A10", 150},
    {"A10G", 300},
    {"A100-40", 400},
    {"A100-40-PCIe", 250},
    {"A100-80", 400},
    {"A100-80-PCIe", 300},
    {"RTX-3090", 350},
    {"L4", 72},
    {"L40S", 350},
    {"RTX-4090", 450},
    {"H100", 700},
    {"H100-NVL", 400},
    {"H100-PCIe", 350},
    {"H200", 700},
    {"GH200", 700},
    {"GH200-144", 700},
    {"B200", 1000},
    {"B300", 1400},
    {"GB200", 1200},
    {"GB300", 1400},
    {"MI300X", 750},
    {"P100-16", 300},
    {"P100-16-PCIe", 250},
    {"Quadro-RTX-6000", 295},
    {"Quadro-RTX-8000", 295},
    {"A30", 165},
    {"A40", 300},
    {"RTX-A6000", 300},
    {"RTX-A5000", 230},
    {"A800-80", 400},
    {"L40", 300},
    {"L20", 275},
    {"RTX-6000-Ada", 300},
    {"H20", 400},
    {"H800", 700},
    {"H200-NVL", 600},
    {"RTX-5090", 575},
    {"RTX-PRO-6000", 600},
    {"MI100", 300},
    {"MI210", 300},
    {"MI250X", 560},
    {"MI250", 560},
    {"MI325X", 1000},
    {"MI350X", 1000},
    {"MI355X", 1400},
    {"Gaudi2", 600},
    {"Gaudi3", 900},
};

}  // namespace

std::optional<DevicePower> FindDevicePower(absl::string_view type) {
  const auto* const found =
      std::find_if(std::begin(kBoardPowers), std::end(kBoardPowers),
                   [&](const BoardPower& power) { return power.type == type; });
  if (found == std::end(kBoardPowers)) return std::nullopt;
  return DevicePower{.idle_w = found->watts * kIdleShare,
                     .busy_w = found->watts};
}

}  // namespace tangram
