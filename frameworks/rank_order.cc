#include "frameworks/rank_order.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Requires a tensor-parallel group to be on one host or to fill its hosts,
// since its ranks exchange the most data.
absl::Status CheckTensorParallelGroups(const PlacedStage& stage,
                                       const std::string& field,
                                       const Cluster& cluster) {
  const size_t tp = stage.plan.parallelism.tp_degree;
  for (size_t begin = 0; begin + tp <= stage.gpus.size(); begin += tp) {
    size_t first_of_host = begin;
    for (size_t i = begin; i < begin + tp; ++i) {
      const bool last =
          i + 1 == begin + tp || stage.gpus[i + 1].node != stage.gpus[i].node;
      if (!last) continue;
      const size_t on_host = i + 1 - first_of_host;
      const Node& node = cluster.nodes[stage.gpus[i].node];
      if (on_host != tp && static_cast<int>(on_host) != node.num_gpus) {
        return FieldError(
            absl::StrCat(field, ".gpus"),
            absl::StrCat(on_host, " of the ", tp,
                         " ranks of a tensor-parallel group on host ",
                         node.name),
            "all of them, or all GPUs of the host");
      }
      first_of_host = i + 1;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> FindNode(const Cluster& cluster, absl::string_view name,
                             const std::string& place) {
  for (size_t n = 0; n < cluster.nodes.size(); ++n) {
    if (cluster.nodes[n].name == name) return static_cast<int>(n);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(place, "host ", name, "; expected a node of the cluster"));
}

absl::StatusOr<std::vector<int>> HostGpus(absl::Span<const std::string> words,
                                          int num_gpus,
                                          const std::string& place) {
  int slots = num_gpus;
  std::vector<int> gpus;
  for (absl::string_view word : words) {
    if (absl::ConsumePrefix(&word, "slots=")) {
      if (absl::SimpleAtoi(word, &slots) && slots > 0 && slots <= num_gpus) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat(place, "slots=", word, "; expected 1 to ", num_gpus));
    }
    if (!absl::ConsumePrefix(&word, "gpus=")) continue;
    for (absl::string_view index : absl::StrSplit(word, ',')) {
      int gpu = 0;
      if (!absl::SimpleAtoi(index, &gpu) || gpu < 0 || gpu >= num_gpus) {
        return absl::InvalidArgumentError(absl::StrCat(
            place, "gpus=", word, "; expected numbers below ", num_gpus));
      }
      gpus.push_back(gpu);
    }
  }
  if (gpus.empty()) {
    gpus.resize(slots);
    std::iota(gpus.begin(), gpus.end(), 0);
  }
  return gpus;
}

// The launch script. $0 is the framework, $1 the variable of its checkout and
// $2 the command; $$ is a $ of the script.
constexpr char kScript[] = R"sh(#!/bin/bash
# Starts the ranks of this host under $0. Run it on every host of
# ./hostfile, with $1 naming a checkout of it:
#   srun --ntasks-per-node=1 bash launch.sh [more options for the program]
# Ranks follow the order of ./hostfile, which is the order of the pipeline
# stages, whatever order srun has.
set -euo pipefail
set -o noglob
here=$$(cd "$$(dirname "$$0")" && pwd)
host=$${TANGRAM_HOST:-$$(hostname -s)}
: "$${$1:?must name a checkout of $0}"
read -r master _ < "$$here/hostfile"
nodes=$$(grep -c . "$$here/hostfile")
line=$$(awk -v host="$$host" '$$1 "" == host "" {print NR - 1, $$0}' "$$here/hostfile")
if [ -z "$$line" ]; then
  echo "launch.sh: $$host is not in $$here/hostfile" >&2
  exit 2
fi
node_rank=$${line%% *}
slots=$${line#*slots=}
slots=$${slots%% *}
case $$line in *gpus=*) export CUDA_VISIBLE_DEVICES=$${line#*gpus=} ;; esac
export CUDA_DEVICE_MAX_CONNECTIONS=1
# PyTorch 1 knows no other spelling of these options.
torchrun=(torchrun --nnodes "$$nodes" --node_rank "$$node_rank"
  --nproc_per_node "$$slots" --master_addr "$${MASTER_ADDR:-$$master}"
  --master_port "$${MASTER_PORT:-29500}")
$2)sh";

}  // namespace

// "V100-SXM2 16GB" becomes "V100-SXM2-16GB".
std::string HostFileType(absl::string_view type) {
  std::string word(type);
  for (char& c : word) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '_' && c != '-') c = '-';
  }
  return word;
}

absl::StatusOr<std::vector<RankedHost>> HostsInRankOrder(
    const Cluster& cluster, const PipelinePlan& plan) {
  std::vector<RankedHost> hosts;
  std::vector<bool> seen(cluster.nodes.size());  // By node.
  std::string type;  // The last host's, and its word.
  std::string word;
  for (int i = 0; i < plan.num_devices(); ++i) {
    const std::string field = absl::StrCat("stages[", i, "]");
    TANGRAM_RETURN_IF_ERROR(
        CheckTensorParallelGroups(plan.stages[i], field, cluster));
    for (const GpuId& gpu : plan.stages[i].gpus) {
      const Node& node = cluster.nodes[gpu.node];
      if (hosts.empty() || hosts.back().node != gpu.node) {
        if (seen[gpu.node]) {
          return absl::InvalidArgumentError(absl::StrCat(
              field, ".gpus: back on host ", node.name,
              " after others; expected the ranks of a host next to each other, "
              "as launchers number them host by host"));
        }
        seen[gpu.node] = true;
        if (word.empty() || node.device.type != type) {
          type = node.device.type;
          word = HostFileType(type);
        }
        hosts.push_back({.name = node.name, .type = word, .node = gpu.node});
        hosts.back().gpus.reserve(node.num_gpus);
      }
      hosts.back().gpus.push_back(gpu.index);
    }
  }
  return hosts;
}

std::vector<RankedHost> HostsInOrderOfUse(const Cluster& cluster,
                                          absl::Span<const GpuId> gpus) {
  std::vector<RankedHost> hosts;
  std::map<int, size_t> host_of_node;
  for (const GpuId& gpu : gpus) {
    const auto [at, is_new] = host_of_node.try_emplace(gpu.node, hosts.size());
    if (is_new) {
      const Node& node = cluster.nodes[gpu.node];
      hosts.push_back({.name = node.name,
                       .type = HostFileType(node.device.type),
                       .node = gpu.node});
    }
    hosts[at->second].gpus.push_back(gpu.index);
  }
  return hosts;
}

std::map<GpuId, int> RanksOn(absl::Span<const RankedHost> hosts) {
  std::map<GpuId, int> ranks;
  for (const RankedHost& host : hosts) {
    for (const int gpu : host.gpus) {
      ranks.emplace(GpuId{host.node, gpu}, static_cast<int>(ranks.size()));
    }
  }
  return ranks;
}

absl::Status RequireGroupsOnHosts(const Cluster& cluster,
                                  const PipelinePlan& plan) {
  for (int i = 0; i < plan.num_devices(); ++i) {
    TANGRAM_RETURN_IF_ERROR(CheckTensorParallelGroups(
        plan.stages[i], absl::StrCat("stages[", i, "]"), cluster));
  }
  return absl::OkStatus();
}

std::vector<RankedHost> ForDevicesByRank(std::vector<RankedHost> hosts) {
  size_t first = 0;  // Rank.
  for (RankedHost& host : hosts) {
    const std::vector<int> in_rank_order = host.gpus;
    const size_t count = in_rank_order.size();
    for (size_t i = 0; i < count; ++i) {
      host.gpus[(first + i) % count] = in_rank_order[i];
    }
    first += count;
  }
  return hosts;
}

absl::Status RequireHostNames(const Cluster& cluster,
                              const PipelinePlan& plan) {
  for (const PlacedStage& stage : plan.stages) {
    for (const GpuId& gpu : stage.gpus) {
      const std::string& name = cluster.nodes[gpu.node].name;
      if (HostFileType(name) == name) continue;
      return FieldError(absl::StrCat("cluster: node ", gpu.node, ": name"),
                        absl::StrCat("\"", absl::CHexEscape(name), "\""),
                        "letters, digits, '.', '_' and '-' only, as host files "
                        "and scripts of an export have it");
    }
  }
  return absl::OkStatus();
}

std::string VisibleGpus(const RankedHost& host) {
  for (size_t i = 0; i < host.gpus.size(); ++i) {
    if (host.gpus[i] != static_cast<int>(i)) {
      return absl::StrJoin(host.gpus, ",");
    }
  }
  return "";
}

std::string HostFileText(const std::vector<RankedHost>& hosts) {
  std::string text;
  for (const RankedHost& host : hosts) {
    absl::StrAppend(&text, host.name, " slots=", host.gpus.size(),
                    " type=", host.type);
    const std::string visible = VisibleGpus(host);
    if (!visible.empty()) absl::StrAppend(&text, " gpus=", visible);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

absl::StatusOr<std::vector<GpuId>> GpusOfHostFile(const Cluster& cluster,
                                                  absl::string_view text,
                                                  absl::string_view source) {
  std::vector<GpuId> gpus;
  std::set<int> seen;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words.front().front() == '#') continue;
    const std::string place = absl::StrCat(source, ": line ", number, ": ");
    TANGRAM_ASSIGN_OR_RETURN(const int node,
                             FindNode(cluster, words.front(), place));
    if (!seen.insert(node).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, "host ", words.front(), "; expected each host once"));
    }
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> of_host,
                             HostGpus(absl::MakeConstSpan(words).subspan(1),
                                      cluster.nodes[node].num_gpus, place));
    for (const int gpu : of_host) gpus.push_back({node, gpu});
  }
  return gpus;
}

std::string LaunchScript(absl::string_view framework,
                         absl::string_view checkout,
                         absl::string_view command) {
  return absl::Substitute(kScript, framework, checkout, command);
}

std::string LaunchHint(const std::vector<RankedHost>& hosts,
                       absl::string_view checkout) {
  return absl::StrCat(checkout, "=<checkout> srun --nodes=", hosts.size(),
                      " --ntasks-per-node=1 bash launch.sh");
}

}  // namespace tangram
