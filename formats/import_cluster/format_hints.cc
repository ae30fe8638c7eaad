#include "formats/import_cluster/format_hints.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/import_cluster/driver_node.h"

namespace tangram {
namespace {

constexpr char kKubectl[] = "expected kubectl get nodes -o json, or -o yaml";
constexpr char kOwnGpu[] =
    "expected a group with its own gpu in a file for --cluster "
    "(docs/cluster-file.md)";
constexpr char kSinfo[] =
    "expected sinfo -N -o '%N|%P|%t|%G|%E', with its line of titles";

// A text that has all of `words` in one line is `what`.
struct Hint {
  std::vector<absl::string_view> words;
  absl::string_view what;
  absl::string_view expected;
};

const std::vector<Hint>& Hints() {
  static const auto* const kHints = new std::vector<Hint>{
      {{"NVIDIA-SMI has failed"},
       "nvidia-smi cannot reach the driver",
       "expected its output on a node with a driver that runs"},
      {{"Unable to determine the device handle"},
       "nvidia-smi cannot reach a GPU",
       "expected its output on a node whose GPUs run"},
      {{"NODELIST("}, "the output of squeue, which lists jobs", kSinfo},
      {{"NODELIST ("}, "the output of squeue, which lists jobs", kSinfo},
      {{"#SBATCH "},
       "a script of a job",
       "expected the output of scontrol show node or sinfo"},
      {{"No devices were found"},
       "nvidia-smi finds no GPU",
       "expected its output on a node with GPUs"},
      {{"Labels:", "="}, "the output of kubectl describe", kKubectl},
      {{"NAME", "DRIVER", "POOL"},
       "a table of kubectl",
       "expected kubectl get resourceslices -o json, or -o yaml"},
      {{"NAME", "ROLES"}, "a table of kubectl", kKubectl},
      {{"NAME ", "GPU"}, "a table of kubectl", kKubectl},
      {{": GPU 0: "},
       "nvidia-smi -L of several nodes",
       "expected the output of each node in a file of its own, NODE=FILE"},
      {{"# gpu ", "pwr"},
       "the output of nvidia-smi dmon, which names no product",
       "expected nvidia-smi -L"},
      {{"FB Memory Usage"},
       "a part of nvidia-smi -q",
       "expected its whole output"},
      {{"Legend:"},
       "a part of nvidia-smi topo -m",
       "expected its whole output, with the line of titles"},
      {{"nvidia.com/gpu."}, "labels of a node alone", kKubectl},
      {{"amd.com/gpu."}, "labels of a node alone", kKubectl},
      {{"nvidia.com/gpu"}, "a part of a node alone", kKubectl},
      {{"amd.com/gpu"}, "a part of a node alone", kKubectl},
      {{"habana.ai/gaudi"}, "a part of a node alone", kKubectl},
      {{"gpu.intel.com/"}, "a part of a node alone", kKubectl},
      {{"npu-smi"},
       "the output of npu-smi, whose devices the catalogue lacks",
       kOwnGpu},
      {{"XPU-SMI"},
       "the output of xpu-smi, whose devices the catalogue lacks",
       kOwnGpu},
      {{"Device ID", "Device Information"},
       "the output of xpu-smi, whose devices the catalogue lacks",
       kOwnGpu},
      {{"KFD_ID:"},
       "the output of amd-smi list, which names no product",
       "expected amd-smi static"},
      {{"VRAM_TOTAL", "GPU"},
       "the output of amd-smi monitor, which names no product",
       "expected amd-smi static"},
      {{"Name=gpu", "File="},
       "gres.conf",
       "expected scontrol show node, whose lines count the GPUs"},
      {{"Gres=gpu"},
       "lines about GPUs without their nodes",
       "expected the whole output of scontrol show node"},
      {{"\"model_type\""}, "a model", "expected by --model, as it is"},
      {{"tangram_cluster:"},
       "a cluster file",
       "expected after --cluster, here or of tangram plan"},
      {{"GRES/", "Joblist"}, "the output of pestat", kSinfo},
      {{"PARTITION", "GRES"}, "a table of sinfo without nodes", kSinfo},
      {{"PARTITION", "AVAIL"}, "a table of sinfo without GPUs", kSinfo},
  };
  return *kHints;
}

bool HasAll(absl::string_view line, const Hint& hint) {
  return absl::c_all_of(hint.words, [line](absl::string_view word) {
    return absl::StrContains(line, word);
  });
}

// Nodes have numbers, or a user before them, which tell their names from words
// of a text.
bool IsHostname(absl::string_view word) {
  return absl::ascii_isalnum(word.front()) &&
         absl::c_any_of(
             word, [](char c) { return absl::ascii_isdigit(c) || c == '@'; }) &&
         absl::c_all_of(word, [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("-._@", c);
         });
}

// The rows of a text without titles.
struct Rows {
  bool are_hosts = true;  // One name each.
  bool has_gres = false;  // "gpu01 gpu:2", "GPU (null) g-0-[1-12]".
  bool has_sections = false;
  int number = 0;
};

Rows RowsOf(absl::string_view text) {
  Rows rows;
  for (const absl::string_view line : LinesOf(text)) {
    const std::vector<absl::string_view> words = WordsIn(line);
    if (words.empty() || absl::StartsWith(words[0], "#")) continue;
    ++rows.number;
    rows.has_sections |=
        absl::StartsWith(words[0], "[") && absl::EndsWith(words.back(), "]");
    rows.are_hosts &= words.size() == 1 && IsHostname(words[0]);
    for (size_t i = 1; i < words.size(); ++i) {
      rows.has_gres |=
          words[i] == "(null)" || absl::StartsWith(words[i], "gpu:");
    }
  }
  return rows;
}

}  // namespace

std::string HintFor(absl::string_view text) {
  for (const absl::string_view line : LinesOf(text)) {
    for (const Hint& hint : Hints()) {
      if (HasAll(line, hint))
        return absl::StrCat(hint.what, "; ", hint.expected);
    }
  }
  const Rows rows = RowsOf(text);
  if (rows.has_gres) {
    return absl::StrCat("a table of sinfo without titles; ", kSinfo);
  }
  if (rows.number > 0 && (rows.are_hosts || rows.has_sections)) {
    return absl::StrCat(
        rows.has_sections ? "an inventory of Ansible" : "names of nodes",
        " without GPUs; expected a line such as gpu01 slots=8 type=H100 for "
        "each node");
  }
  return "";
}

}  // namespace tangram
