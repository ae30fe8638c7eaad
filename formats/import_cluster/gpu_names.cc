#include "formats/import_cluster/gpu_names.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/units.h"

namespace tangram {
namespace {

// Drivers, labels and datasheets differ by at most this share in the memory of
// one card.
constexpr double kMemoryTolerance = 0.08;

// The end of a name that a table has cut short.
constexpr absl::string_view kCut = "...";

// Drops the unit of a memory that is a word of its own: "A100-80G", but not
// "A10G".
absl::string_view WithoutUnit(absl::string_view name) {
  absl::string_view rest = name;
  if (!absl::ConsumeSuffix(&rest, "G") && !absl::ConsumeSuffix(&rest, "g")) {
    return name;
  }
  const size_t mark = rest.find_last_not_of("0123456789");
  const bool is_word = mark != absl::string_view::npos &&
                       mark + 1 < rest.size() &&
                       absl::StrContains("-_ ", rest[mark]);
  return is_word ? rest : name;
}

// Keeps letters and digits, in lower case, and drops the maker's names.
std::string Core(absl::string_view name) {
  name = WithoutUnit(name);
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
  // AMD's names of the module that a card is on and of a virtual machine's view
  // of a whole card, and the unit of its memory.
  absl::ConsumeSuffix(&rest, "oam");
  absl::ConsumeSuffix(&rest, "vf");
  absl::ConsumeSuffix(&rest, "gb");
  // Google's name of machines whose network is faster.
  return absl::StrReplaceAll(rest, {{"mega", ""}});
}

bool IsCalled(const CatalogueDevice& device, absl::string_view core) {
  return Core(device.device.type) == core ||
         absl::c_any_of(device.aliases, [core](const std::string& alias) {
           return Core(alias) == core;
         });
}

bool BeginsWith(const std::string& type, absl::string_view core) {
  for (size_t dash = type.find('-'); dash != std::string::npos;
       dash = type.find('-', dash + 1)) {
    if (Core(type.substr(0, dash)) == core) return true;
  }
  return false;
}

// True for A100-40-PCIe and "a100": the name is a prefix up to a dash, also of
// an alias: V100-SXM2-16GB and "v100_sxm2". False for L40S and "l4".
bool IsVariant(const CatalogueDevice& device, absl::string_view core) {
  return BeginsWith(device.device.type, core) ||
         absl::c_any_of(device.aliases, [core](const std::string& alias) {
           return BeginsWith(alias, core);
         });
}

bool FitsMemory(const CatalogueDevice& device, double bytes) {
  return bytes == 0 || std::abs(device.device.memory_bytes - bytes) <=
                           kMemoryTolerance * bytes;
}

}  // namespace

GpuMatch MatchGpu(absl::string_view name, double memory_bytes) {
  const std::string core = Core(name);
  const bool is_cut = absl::EndsWith(name, kCut);
  GpuMatch match;
  const CatalogueDevice* called = nullptr;
  for (const CatalogueDevice& device : DeviceCatalogue()) {
    if (core.empty()) break;
    const bool is_called = IsCalled(device, core);
    // "RTX 2080" may be another card than the catalogue's RTX-2080-Ti.
    if (is_called && !is_cut && !BeginsWith(device.device.type, core)) {
      called = &device;
    }
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
  match.is_beginning = memory_bytes == 0 && match.device != nullptr &&
                       match.others.empty() &&
                       BeginsWith(match.device->device.type, core);
  // An exact name wins, whatever memory is reported for it.
  if (match.device == nullptr) match.device = called;
  return match;
}

std::string CompleteGpuName(absl::string_view name, double memory_bytes) {
  absl::string_view start = name;
  if (!absl::ConsumeSuffix(&start, kCut)) return std::string(name);
  std::string core = Core(start);
  // The unit of the memory may be cut in half: "A100 80G...".
  if (absl::EndsWith(core, "0g")) core.pop_back();
  std::string whole;
  for (const CatalogueDevice& device : DeviceCatalogue()) {
    if (!FitsMemory(device, memory_bytes)) continue;
    const auto begins = [&core](const std::string& alias) {
      return absl::StartsWith(Core(alias), core);
    };
    const auto alias = absl::c_find_if(device.aliases, begins);
    if (alias == device.aliases.end() && !begins(device.device.type)) continue;
    if (!whole.empty()) return std::string(name);
    // A type may be the beginning of another, which the alias is not.
    whole = alias == device.aliases.end() ? device.device.type : *alias;
  }
  return whole.empty() ? std::string(name) : whole;
}

std::vector<std::string> GpuFeatures(absl::string_view features) {
  std::vector<std::string> names;
  std::vector<const CatalogueDevice*> seen;
  for (absl::string_view word :
       absl::StrSplit(features, absl::ByAnyChar(",&|"), absl::SkipEmpty())) {
    word = absl::StripAsciiWhitespace(word);
    // The key of a site's own "KEY:VALUE" or "key=value".
    word = word.substr(word.find_last_of(":=") + 1);
    for (const absl::string_view prefix :
         {"gpu_", "gpu-", "GPU_", "GPU-", "gpu", "GPU"}) {
      if (absl::ConsumePrefix(&word, prefix)) break;
    }
    const GpuMatch match = MatchGpu(word, 0);
    if (match.device == nullptr || absl::c_linear_search(seen, match.device)) {
      continue;
    }
    seen.push_back(match.device);
    names.push_back(std::string(word));
  }
  return names;
}

double GpuMemoryOfFeatures(absl::string_view features) {
  for (const absl::string_view word :
       absl::StrSplit(features, absl::ByAnyChar(",&|"), absl::SkipEmpty())) {
    const size_t mark = word.find_first_of(":=");
    if (mark == absl::string_view::npos) continue;
    const std::string key = absl::AsciiStrToLower(word.substr(0, mark));
    if (!absl::StrContains(key, "gpu") || !absl::StrContains(key, "mem")) {
      continue;
    }
    return ParseQuantity(word.substr(mark + 1), Dimension::kBytes).value_or(0);
  }
  return 0;
}

std::string ProductInBrackets(absl::string_view name) {
  const size_t open = name.find('[');
  if (open == absl::string_view::npos || !absl::EndsWith(name, "]")) {
    return std::string(name);
  }
  return std::string(name.substr(open + 1, name.size() - open - 2));
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
