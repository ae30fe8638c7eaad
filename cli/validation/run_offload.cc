#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/validation/run_parts.h"

namespace tangram {
namespace {

// Reads "optimizer" or "optimizer 0.5"; returns false for anything else.
bool ReadPart(absl::string_view part, HostOffload& offload) {
  const std::vector<std::string> words =
      absl::StrSplit(part, ' ', absl::SkipEmpty());
  const struct {
    const char* name;
    double* value;
  } kinds[] = {{"weights", &offload.weights},
               {"gradients", &offload.gradients},
               {"optimizer", &offload.optimizer},
               {"activations", &offload.activations}};
  for (const auto& kind : kinds) {
    if (words.empty() || words[0] != kind.name) continue;
    *kind.value = 1;
    if (words.size() == 1) return true;
    return words.size() == 2 && absl::SimpleAtod(words[1], kind.value) &&
           *kind.value >= 0 && *kind.value <= 1;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::optional<HostOffload>> OffloadOfRun(
    const MeasuredRun& run) {
  if (absl::StartsWith(run.offload, "per-stage")) {
    return std::optional<HostOffload>();
  }
  HostOffload offload;
  if (run.offload.empty() || absl::StartsWith(run.offload, "none")) {
    return std::optional<HostOffload>(offload);
  }
  for (const absl::string_view part : absl::StrSplit(run.offload, ',')) {
    if (ReadPart(part, offload)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "offload: ", run.offload,
        "; expected some of weights, gradients, optimizer, activations, each "
        "perhaps with the fraction"));
  }
  return std::optional<HostOffload>(offload);
}

}  // namespace tangram
