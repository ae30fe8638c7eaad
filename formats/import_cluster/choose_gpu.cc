#include "formats/import_cluster/choose_gpu.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/field_error.h"
#include "common/base/format.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/nearest_name.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// Returns the type that the user told for these GPUs; empty if none.
std::string ToldType(const InventoryNode& node, const InventoryGpus& gpus,
                     const ToldTypes& told) {
  const auto by_gpu = told.by_gpu.find(absl::AsciiStrToLower(gpus.name));
  if (by_gpu != told.by_gpu.end()) return by_gpu->second;
  const auto by_node = told.by_node.find(node.name);
  return by_node == told.by_node.end() ? "" : by_node->second;
}

// Returns the type of that name in the user's own file, ignoring case; empty if
// there is none.
std::string OwnType(absl::string_view name,
                    absl::Span<const std::string> own_types) {
  const auto it = absl::c_find_if(own_types, [name](const std::string& type) {
    return absl::EqualsIgnoreCase(type, name);
  });
  return it == own_types.end() ? "" : *it;
}

// Spells the flag as in a shell.
std::string GpuFlag(absl::string_view name) {
  const bool is_word = absl::c_all_of(name, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("._-:", c);
  });
  if (is_word) return absl::StrCat("--gpu ", Shown(name), "=TYPE");
  return absl::StrCat("--gpu '",
                      absl::StrReplaceAll(Shown(name), {{"\\'", "'\\''"}}),
                      "=TYPE'");
}

std::string AmbiguityNote(absl::string_view name, const GpuMatch& match) {
  if (match.others.empty() && !match.is_beginning) return "";
  return absl::StrCat("GPU ", Shown(name), " is taken for ",
                      match.device->device.type, "; it could be ",
                      match.is_beginning
                          ? "a card of its own, which the catalogue lacks"
                          : absl::StrJoin(match.others, " or "),
                      " (", GpuFlag(name), ")");
}

// Notes a node with far more GPUs than nodes of the type have: some drivers
// count the parts of GPUs.
std::string CountNote(const InventoryNode& node, int count,
                      const CatalogueDevice& device) {
  constexpr int kUsual = 2;  // DGX-2 has twice the GPUs of other nodes.
  if (count <= kUsual * device.gpus_per_node) return "";
  return absl::StrCat(node.name, " has ", count, " ", device.device.type,
                      ", and nodes of its kind ", device.gpus_per_node,
                      ": they may be parts of GPUs, which are no whole ones");
}

// Returns whether the GPUs of a node have much less memory than the device of
// their name, as partitions have. Where GPUs are of several kinds, nobody knows
// whose memory is told.
bool IsPart(const InventoryNode& node, const DeviceSpec& device) {
  constexpr double kWhole = 0.6;
  return node.gpus.size() == 1 && node.gpu_memory_bytes > 0 &&
         node.gpu_memory_bytes < kWhole * device.memory_bytes;
}

// Chooses the type of GPUs with one name: told by the user, described in the
// user's own file, or found in the catalogue.
ChosenGpus Resolve(const InventoryNode& node, const InventoryGpus& gpus,
                   const ToldTypes& told,
                   absl::Span<const std::string> own_types) {
  ChosenGpus chosen{.count = gpus.count};
  const std::string& said = gpus.product.empty() ? gpus.name : gpus.product;
  const std::string told_type = ToldType(node, gpus, told);
  const std::string& name = told_type.empty() ? said : told_type;
  chosen.source =
      told_type.empty() ? absl::StrCat("GPU ", Shown(name)) : "told by --gpu";
  chosen.type = OwnType(name, own_types);
  chosen.device = FindDevice(chosen.type);
  if (!chosen.type.empty()) return chosen;
  const GpuMatch match =
      MatchGpu(name, told_type.empty() ? node.gpu_memory_bytes : 0);
  if (match.device != nullptr && told_type.empty() &&
      IsPart(node, match.device->device)) {
    chosen.skipped = absl::StrCat(
        "GPU ", Shown(name), " has ", FormatBytes(node.gpu_memory_bytes),
        " of the ", FormatBytes(match.device->device.memory_bytes), " of a ",
        match.device->device.type,
        ", as if it were cut into parts; name one that is like it by ",
        GpuFlag(name));
  } else if (match.device != nullptr) {
    chosen.type = match.device->device.type;
    chosen.device = match.device;
    if (told_type.empty()) chosen.note = AmbiguityNote(name, match);
    if (chosen.note.empty()) {
      chosen.note = CountNote(node, gpus.count, *match.device);
    }
  } else if (name.empty()) {
    // The same for all nodes, so that they are listed together.
    chosen.skipped = "its GPUs have no type; give it by --gpu NODES=TYPE";
  } else {
    chosen.skipped =
        absl::StrCat("GPU ", Shown(name),
                     " is not in the catalogue; name one that is like it by ",
                     GpuFlag(name), ", or describe it in a group of --cluster");
  }
  return chosen;
}

double Throughput(const ChosenGpus& gpus) {
  return gpus.device == nullptr
             ? 0
             : gpus.count * gpus.device->device.peak_flops.fp16;
}

}  // namespace

ToldTypes ToldTypes::From(const std::map<std::string, std::string>& told) {
  ToldTypes types;
  for (const auto& [key, type] : told) {
    types.by_gpu[absl::AsciiStrToLower(key)] = type;
    const auto nodes = ExpandHostlist(key);
    if (!nodes.ok()) continue;
    for (const std::string& node : *nodes) types.by_node[node] = type;
  }
  return types;
}

absl::Status CheckToldTypes(const std::map<std::string, std::string>& told,
                            absl::Span<const std::string> own_types) {
  for (const auto& [name, type] : told) {
    if (!OwnType(type, own_types).empty() ||
        MatchGpu(type, 0).device != nullptr) {
      continue;
    }
    std::vector<absl::string_view> known(own_types.begin(), own_types.end());
    for (const CatalogueDevice& device : DeviceCatalogue()) {
      known.push_back(device.device.type);
    }
    return FieldError(
        "--gpu", absl::StrCat(Shown(name), "=", Shown(type)),
        absl::StrCat("a type of tangram devices, or of the file of --cluster",
                     DidYouMean(type, known)));
  }
  return absl::OkStatus();
}

ChosenGpus ChooseGpus(const InventoryNode& node, const ToldTypes& told,
                      absl::Span<const std::string> own_types, bool free_only) {
  ChosenGpus best{.skipped = "no GPUs"};
  std::string best_shown;
  std::vector<std::string> others;
  std::vector<std::string> slices;
  for (InventoryGpus gpus : node.gpus) {
    if (gpus.count > 0 && IsGpuSlice(gpus.name)) {
      slices.push_back(absl::StrCat(gpus.count, " ", Shown(gpus.name)));
      best.skipped = absl::StrCat("its GPUs are cut into MIG slices (",
                                  absl::StrJoin(slices, ", "), ")");
      continue;
    }
    if (free_only && gpus.count > 0 && gpus.used >= gpus.count) {
      best.skipped = "all its GPUs are in use";
      continue;
    }
    if (free_only) gpus.count -= gpus.used;
    if (gpus.count <= 0) continue;
    ChosenGpus chosen = Resolve(node, gpus, told, own_types);
    std::string shown = absl::StrCat(
        gpus.count, " ", chosen.type.empty() ? Shown(gpus.name) : chosen.type);
    if (best.type.empty() || Throughput(chosen) > Throughput(best)) {
      std::swap(best, chosen);
      std::swap(best_shown, shown);
    }
    if (!shown.empty()) others.push_back(std::move(shown));
  }
  if (!best.type.empty() && !others.empty()) {
    best.note = absl::StrCat(
        node.name, ": its ", absl::StrJoin(others, " and "),
        " stay unused: ", "a node is planned with GPUs of one type");
  }
  if (!best.type.empty() && !slices.empty()) {
    best.note = absl::StrCat(best.note, best.note.empty() ? "" : "; ",
                             node.name, ": its ", absl::StrJoin(slices, ", "),
                             " stay unused: plans use whole GPUs");
  }
  return best;
}

}  // namespace tangram
