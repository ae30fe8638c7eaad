#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/validation/run_parts.h"
#include "cli/validation/text_match.h"
#include "common/base/status_macros.h"
#include "formats/config/link_fields.h"

namespace tangram {
namespace {

// Share of a nominal rate that collectives achieve. RDMA is over InfiniBand or
// RoCE. Omni-Path has no GPUDirect: Jean Zay measured 42 to 90 Gbit/s of a
// node's 400 (BigScience all-reduce benchmarks), of which this is the middle.
constexpr double kRdmaDelivered = 0.8;
constexpr double kOmniPathDelivered = 0.165;
// Ethernet is TCP, for which hosts copy every byte at this rate besides sending
// it. The Mist artifact measured 6.8 GB/s at 100 Gbit/s; AMP's runs on AWS
// agree at 10 and at 50 Gbit/s.
constexpr double kTcpCopyBytesPerS = 16e9;
// Nodes with a lower rate are taken to be on plain Ethernet.
constexpr double kLeastRdmaGbitPerS = 200;
// Far above the 8 network cards of any published node.
constexpr int kMaxLinksPerNode = 64;

// A number in a text, with the text after it. Digits of a name, as in "V100",
// are not numbers; "4x100" has two.
struct NumberInText {
  double value = 0;
  absl::string_view rest;
};

bool ContinuesName(absl::string_view text, size_t i) {
  if (i == 0 || !absl::ascii_isalnum(text[i - 1])) return false;
  const bool times =
      text[i - 1] == 'x' && i > 1 && absl::ascii_isdigit(text[i - 2]);
  return !times;
}

std::vector<NumberInText> NumbersIn(absl::string_view text) {
  std::vector<NumberInText> numbers;
  for (size_t i = 0; i < text.size();) {
    if (!absl::ascii_isdigit(text[i]) || ContinuesName(text, i)) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() &&
           (absl::ascii_isdigit(text[end]) || text[end] == '.')) {
      ++end;
    }
    double value = 0;
    if (absl::SimpleAtod(text.substr(i, end - i), &value)) {
      numbers.push_back({value, text.substr(end)});
    }
    i = end;
  }
  return numbers;
}

double BytesPerSecond(const NodeNetwork& network) {
  const double nominal = network.gbit_per_s * 1e9 / 8;
  if (network.omni_path) return kOmniPathDelivered * nominal;
  if (network.rdma) return kRdmaDelivered * nominal;
  return 1 / (1 / nominal + 1 / kTcpCopyBytesPerS);
}

Link LinkOf(const NodeNetwork& network) {
  const double bytes_per_s = BytesPerSecond(network);
  return {.bandwidth_bytes_per_s = bytes_per_s,
          .pair_bandwidth_bytes_per_s = bytes_per_s / network.num_links,
          .latency_s =
              network.rdma || network.omni_path ? kRdmaLatencyS : kTcpLatencyS};
}

// Returns candidate names in the catalogue's spelling, without remarks and form
// factors.
std::vector<std::string> NamesToTry(absl::string_view gpu, bool nvlink) {
  std::string name(absl::StripAsciiWhitespace(
      absl::string_view(gpu).substr(0, gpu.find('('))));
  name = absl::StrReplaceAll(name, {{" ", "-"}});
  std::vector<std::string> names;
  if (nvlink) names.push_back(name + "-SXM2");
  names.push_back(name);
  for (const absl::string_view suffix :
       {"-SXM", "-SXM2", "-SXM3", "-SXM4", "-SXM5", "-16", "-24"}) {
    if (absl::EndsWith(name, suffix)) {
      names.push_back(name.substr(0, name.size() - suffix.size()));
    }
  }
  return names;
}

// Returns the clause that names the card's family, or else the whole text:
// "V100 node: NVLink (170 Gbps); T4 node: PCIe" has two clauses.
absl::string_view ClauseFor(absl::string_view text, absl::string_view gpu) {
  const absl::string_view family = gpu.substr(0, gpu.find_first_of("- "));
  for (const absl::string_view clause :
       absl::StrSplit(text, absl::ByAnyChar(";,"))) {
    if (absl::StrContains(text, " node") && absl::StrContains(clause, family)) {
      return clause;
    }
  }
  return text;
}

bool SaysNvlink(absl::string_view text) {
  if (Mentions(text, "nvlink")) return true;
  // PCIe 3.0 x16 has this rate, so a faster link is NVLink.
  constexpr double kMaxPcie3GbitPerS = 128;
  const std::vector<NumberInText> numbers = NumbersIn(text);
  return !numbers.empty() && absl::StartsWith(numbers[0].rest, " Gbps") &&
         numbers[0].value > kMaxPcie3GbitPerS;
}

// Builds a cluster with one group of nodes for each GPU type.
class ClusterBuilder {
 public:
  ClusterBuilder(const MeasuredRun& run,
                 absl::Span<const CatalogueDevice> known)
      : run_(run), known_(known) {}

  // Returns the next free GPU of a type, on a new node if the last one is full.
  absl::StatusOr<GpuId> NextGpu(absl::string_view gpu) {
    TANGRAM_ASSIGN_OR_RETURN(const int group, GroupOf(gpu));
    int& node = last_node_[group];
    if (node < 0 || used_[node] == cluster_.nodes[node].num_gpus) {
      node = AddNode(group);
    }
    return GpuId{.node = node, .index = used_[node]++};
  }

  Cluster Finish() {
    for (size_t a = 0; a < links_.size(); ++a) {
      cluster_.links.emplace_back();
      for (size_t b = 0; b < links_.size(); ++b) {
        const bool first =
            links_[a].bandwidth_bytes_per_s <= links_[b].bandwidth_bytes_per_s;
        cluster_.links[a].push_back(first ? links_[a] : links_[b]);
      }
    }
    return std::move(cluster_);
  }

 private:
  absl::StatusOr<int> GroupOf(absl::string_view gpu) {
    for (size_t g = 0; g < cluster_.groups.size(); ++g) {
      if (cluster_.groups[g] == gpu) return static_cast<int>(g);
    }
    const bool nvlink = SaysNvlink(ClauseFor(run_.intra_link, gpu));
    TANGRAM_ASSIGN_OR_RETURN(const CatalogueDevice* device,
                             FindRunDevice(gpu, nvlink, known_));
    const std::optional<NodeNetwork> network =
        ParseNodeNetwork(ClauseFor(run_.inter_link, gpu));
    cluster_.groups.emplace_back(gpu);
    devices_.push_back(device);
    links_.push_back(network ? LinkOf(*network)
                             : InterNodeLink(*device, GpusPerNode(*device)));
    last_node_.push_back(-1);
    return static_cast<int>(cluster_.groups.size()) - 1;
  }

  int GpusPerNode(const CatalogueDevice& device) const {
    return run_.gpus_per_node > 0 ? run_.gpus_per_node : device.gpus_per_node;
  }

  int AddNode(int group) {
    const CatalogueDevice& device = *devices_[group];
    const int index = static_cast<int>(cluster_.nodes.size());
    cluster_.nodes.push_back({.name = absl::StrCat("node", index),
                              .group = group,
                              .num_gpus = GpusPerNode(device),
                              .device = device.device,
                              .intra_node = device.intra_node});
    used_.push_back(0);
    return index;
  }

  const MeasuredRun& run_;
  const absl::Span<const CatalogueDevice> known_;
  Cluster cluster_;
  std::vector<const CatalogueDevice*> devices_;  // One for each group.
  std::vector<Link> links_;                      // One for each group.
  std::vector<int> last_node_;                   // One for each group.
  std::vector<int> used_;                        // Used GPUs of each node.
};

// Uses 64 bits, since the degrees of a bad row may have any product.
int64_t NumRanks(const RunStage& stage) {
  const StageParallelism& p = stage.plan.parallelism;
  if (stage.ranks.empty()) {
    return int64_t{p.tp_degree} * p.cp_degree * p.dp_degree;
  }
  int64_t count = 0;
  for (const RunStage::Ranks& ranks : stage.ranks) count += ranks.count;
  return count;
}

}  // namespace

absl::StatusOr<const CatalogueDevice*> FindRunDevice(
    absl::string_view gpu, bool nvlink,
    absl::Span<const CatalogueDevice> devices) {
  const auto given_as = [devices](absl::string_view type) {
    return std::find_if(
        devices.begin(), devices.end(), [type](const CatalogueDevice& device) {
          return absl::EqualsIgnoreCase(device.device.type, type);
        });
  };
  const std::vector<std::string> names = NamesToTry(gpu, nvlink);
  for (const std::string& name : names) {
    const auto given = given_as(name);
    if (given != devices.end()) return &*given;
  }
  for (const std::string& name : names) {
    const CatalogueDevice* known = FindDevice(name);
    if (known == nullptr) continue;
    const auto given = given_as(known->device.type);
    return given != devices.end() ? &*given : known;
  }
  return absl::UnimplementedError(
      absl::StrCat("gpu: ", gpu, "; not in the device catalogue"));
}

std::optional<NodeNetwork> ParseNodeNetwork(absl::string_view text) {
  NodeNetwork network{.omni_path = Mentions(text, "omni-path")};
  double link_gbit_per_s = 0;
  for (const NumberInText& number : NumbersIn(text)) {
    if (absl::StartsWith(number.rest, "x") && number.value >= 1 &&
        number.value <= kMaxLinksPerNode) {
      network.num_links = static_cast<int>(number.value);
    } else if (absl::StartsWithIgnoreCase(number.rest, " gb")) {
      link_gbit_per_s = number.value;
      if (absl::StrContains(number.rest, " per GPU")) network.num_links = 8;
      break;
    }
  }
  if (link_gbit_per_s == 0 && absl::StrContains(text, "HDR")) {
    link_gbit_per_s = 200;
  }
  if (link_gbit_per_s == 0) return std::nullopt;
  network.gbit_per_s = link_gbit_per_s * network.num_links;
  network.rdma = network.gbit_per_s >= kLeastRdmaGbitPerS;
  return network;
}

absl::StatusOr<PlacedRun> PlaceRun(const MeasuredRun& run,
                                   absl::Span<const RunStage> stages,
                                   absl::Span<const CatalogueDevice> devices) {
  ClusterBuilder builder(run, devices);
  PlacedRun placed;
  int64_t used = 0;
  for (const RunStage& stage : stages) {
    used += NumRanks(stage);
    if (used > run.num_gpus) {
      return absl::InvalidArgumentError(absl::StrCat(
          "num_gpus: ", run.num_gpus, "; the plan uses at least ", used));
    }
    std::vector<GpuId>& gpus = placed.gpus.emplace_back();
    std::vector<RunStage::Ranks> ranks = stage.ranks;
    if (ranks.empty()) {
      ranks.push_back({run.gpu, stage.plan.parallelism.num_gpus()});
    }
    for (const RunStage::Ranks& same : ranks) {
      for (int i = 0; i < same.count; ++i) {
        TANGRAM_ASSIGN_OR_RETURN(const GpuId gpu, builder.NextGpu(same.gpu));
        gpus.push_back(gpu);
      }
    }
  }
  placed.cluster = builder.Finish();
  return placed;
}

}  // namespace tangram
