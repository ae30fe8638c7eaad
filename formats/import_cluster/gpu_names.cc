#include "formats/import_cluster/gpu_names.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/config/device_catalogue.h"

namespace tangram {
namespace {

// Drivers, labels and datasheets differ by at most this share in the memory of
// one card.
constexpr double kMemoryTolerance = 0.08;

// Keeps letters and digits, in lower case, and drops the maker's names.
std::string Core(absl::string_view name) {
  std::string core;
  for (const char c : name) {
    if (absl::ascii_isalnum(c)) core += absl::ascii_tolower(c);
  }
  absl::string_view rest = core;
  while (absl::ConsumePrefix(&rest, "nvidia") ||
         absl::ConsumePrefix(&rest, "tesla") ||
         absl::ConsumePrefix(&rest, "geforce") ||
         absl::ConsumePrefix(&rest, "amd") ||
         absl::ConsumePrefix(&rest, "instinct")) {
  }
  return std::string(rest);
}

bool IsCalled(const CatalogueDevice& device, absl::string_view core) {
  return Core(device.device.type) == core ||
         absl::c_any_of(device.aliases, [core](const std::string& alias) {
           return Core(alias) == core;
         });
}

// True for A100-40-PCIe and "a100": the name is a prefix up to a dash. False
// for L40S and "l4".
bool IsVariant(const CatalogueDevice& device, absl::string_view core) {
  const std::string& type = device.device.type;
  for (size_t dash = type.find('-'); dash != std::string::npos;
       dash = type.find('-', dash + 1)) {
    if (Core(type.substr(0, dash)) == core) return true;
  }
  return false;
}

bool FitsMemory(const CatalogueDevice& device, double bytes) {
  return bytes == 0 || std::abs(device.device.memory_bytes - bytes) <=
                           kMemoryTolerance * bytes;
}

}  // namespace

GpuMatch MatchGpu(absl::string_view name, double memory_bytes) {
  const std::string core = Core(name);
  GpuMatch match;
  const CatalogueDevice* called = nullptr;
  for (const CatalogueDevice& device : DeviceCatalogue()) {
    if (core.empty()) break;
    const bool is_called = IsCalled(device, core);
    if (is_called) called = &device;
    if (!is_called && !IsVariant(device, core)) continue;
    if (!FitsMemory(device, memory_bytes)) continue;
    if (match.device == nullptr || is_called) {
      if (match.device != nullptr) {
        match.others.push_back(match.device->device.type);
      }
      match.device = &device;
    } else {
      match.others.push_back(device.device.type);
    }
  }
  // An exact name wins, whatever memory is reported for it.
  if (match.device == nullptr) match.device = called;
  return match;
}

bool IsGpuSlice(absl::string_view name) {
  // Matches "3g.20gb" after any other text.
  const std::string lower = absl::AsciiStrToLower(name);
  const size_t dot = lower.find("g.");
  return (dot != std::string::npos && dot > 0 &&
          absl::ascii_isdigit(lower[dot - 1]) &&
          absl::StrContains(lower.substr(dot), "gb")) ||
         absl::StrContains(lower, "-mig-");
}

}  // namespace tangram
