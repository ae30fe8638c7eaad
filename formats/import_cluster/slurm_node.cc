#include "formats/import_cluster/slurm_node.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/gres.h"

namespace tangram {
namespace {

// States in which jobs run or can start, by the manual pages of squeue and
// sinfo. A powered-down node starts when a job needs it.
constexpr absl::string_view kUsable[] = {
    "alloc",        "allocated",    "cloud",         "comp",       "completing",
    "dynamic_norm", "idle",         "mix",           "mixed",      "planned",
    "plnd",         "powered_down", "powering_down", "powering_up"};

struct ShortState {
  absl::string_view word;
  absl::string_view meaning;
};
constexpr ShortState kMeanings[] = {{"drng", "draining"},
                                    {"failg", "failing"},
                                    {"futr", "not there yet"},
                                    {"future", "not there yet"},
                                    {"inval", "invalid registration"},
                                    {"invalid_reg", "invalid registration"},
                                    {"maint", "in maintenance"},
                                    {"resv", "reserved"},
                                    {"unk", "unknown"}};

std::string MeaningOf(absl::string_view word) {
  for (const ShortState& state : kMeanings) {
    if (state.word == word) return std::string(state.meaning);
  }
  return absl::StrReplaceAll(word, {{"_", " "}});
}

void AddUsed(const InventoryGpus& used, std::vector<InventoryGpus>& gpus) {
  const auto it = absl::c_find_if(gpus, [&used](const InventoryGpus& g) {
    return g.name == used.name || used.name.empty();
  });
  if (it != gpus.end()) it->used += used.count;
}

}  // namespace

std::string WhyUnusable(absl::string_view state) {
  const std::string lower = absl::AsciiStrToLower(state);
  if (lower.empty()) {
    return "no state; expected the whole output of scontrol show node";
  }
  // Most nodes of slurm.conf have this state.
  if (lower == "unknown") {
    return "unknown state; in slurm.conf, expected scontrol show node";
  }
  std::vector<std::string> why;
  for (absl::string_view word : absl::StrSplit(lower, '+')) {
    // "idle*" means that the controller cannot reach it; other marks add
    // detail.
    const bool reachable = !absl::StrContains(word, '*');
    while (!word.empty() && !absl::ascii_isalpha(word.back())) {
      word.remove_suffix(1);
    }
    if (!absl::c_linear_search(kUsable, word)) why.push_back(MeaningOf(word));
    if (!reachable) why.push_back("not responding");
  }
  return absl::StrJoin(why, ", ");
}

absl::StatusOr<InventoryNode> NodeFromSlurm(const SlurmNode& node) {
  InventoryNode result{.name = node.name,
                       .partitions = node.partitions,
                       .unusable = WhyUnusable(node.state)};
  TANGRAM_ASSIGN_OR_RETURN(result.gpus, ParseGres(node.gres));
  // Several sites give the type as a feature beside "gpu:4". Two types of a
  // node would not tell which of them the resource is.
  if (result.gpus.size() == 1 && result.gpus[0].name.empty()) {
    const std::vector<std::string> names = GpuFeatures(node.features);
    if (names.size() == 1) result.gpus[0].name = names[0];
    result.gpu_memory_bytes = GpuMemoryOfFeatures(node.features);
  }
  const absl::StatusOr<std::vector<InventoryGpus>> used =
      ParseGres(node.gres_used);
  if (used.ok()) {
    for (const InventoryGpus& gpus : *used) AddUsed(gpus, result.gpus);
  }
  const bool has_reason = !node.reason.empty() && node.reason != "none";
  if (!result.unusable.empty() && has_reason) {
    absl::StrAppend(&result.unusable, ": ", node.reason);
  }
  return result;
}

}  // namespace tangram
