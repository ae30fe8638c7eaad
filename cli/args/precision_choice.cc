#include "cli/args/precision_choice.h"

#include <filesystem>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tangram {
namespace {

// Returns the types of GPUs without units for `precision`, as they appear.
std::vector<std::string> TypesWithout(const Cluster& cluster,
                                      Precision precision) {
  std::vector<std::string> types;
  for (const Node& node : cluster.nodes) {
    const DeviceSpec& device = node.device;
    if (device.peak_flops.At(precision) > 0) continue;
    if (!absl::c_linear_search(types, device.type)) {
      types.push_back(device.type);
    }
  }
  return types;
}

bool SomeHave(const Cluster& cluster, Precision precision) {
  return absl::c_any_of(cluster.nodes, [&](const Node& node) {
    return node.device.peak_flops.At(precision) > 0;
  });
}

}  // namespace

PrecisionChoice ChoosePrecision(const ModelSpec& model,
                                absl::string_view model_file,
                                const Cluster& cluster) {
  const std::optional<Precision> weights =
      PrecisionOfDtype(model.details.dtype);
  PrecisionChoice choice;
  if (!weights.has_value() || *weights == choice.precision) return choice;
  const std::vector<std::string> without = TypesWithout(cluster, *weights);
  if (*weights != Precision::kFp32 && without.empty()) {
    choice.precision = *weights;
    return choice;
  }
  const absl::string_view name = PrecisionName(*weights);
  std::string unless;
  if (*weights != Precision::kFp32 && SomeHave(cluster, *weights)) {
    choice.preferred = *weights;
    unless = absl::StrCat(", unless ", name, " without ",
                          without.size() == 1 ? "it" : "them", " is faster");
  }
  const std::string reason =
      *weights == Precision::kFp32
          ? "; 16 bits with fp32 masters train faster"
          : absl::StrCat(", for which ", absl::StrJoin(without, ", "),
                         without.size() == 1 ? " has" : " have", " no units");
  choice.note = absl::StrCat(
      std::filesystem::path(std::string(model_file)).filename().string(),
      " says ", name, reason, ": planned in ", PrecisionName(choice.precision),
      unless, "; --precision ", name, " to insist");
  return choice;
}

}  // namespace tangram
