#include "formats/config/instance_cluster.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/catalogue/instances.h"
#include "formats/config/cluster_file.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/nearest_name.h"

namespace tangram {
namespace {

// Share of a line rate that collectives reach; see devices.yaml.
constexpr double kAchievedShare = 0.9;

absl::StatusOr<const CloudInstance*> InstanceOf(const NodeCount& wanted) {
  const std::string& name = wanted.first;
  const int count = wanted.second;
  const CloudInstance* const instance = FindInstance(name);
  if (instance == nullptr) {
    std::vector<absl::string_view> known;
    for (const CloudInstance& each : CloudInstances()) {
      known.push_back(each.name);
    }
    absl::string_view nearest = NearestName(name, known);
    // A family: p4d.
    const auto begins = [&name](absl::string_view each) {
      return !name.empty() && absl::StartsWithIgnoreCase(each, name);
    };
    const auto of_family = absl::c_find_if(known, begins);
    if (of_family != known.end()) nearest = *of_family;
    return absl::InvalidArgumentError(absl::StrCat(
        "--nodes: ", absl::Utf8SafeCEscape(name),
        "; expected a type of cloud instance",
        nearest.empty() ? ", such as p5.48xlarge; describe others in a file"
                        : absl::StrCat(", such as ", nearest),
        ", or --cluster FILE with it"));
  }
  if (FindDevice(instance->gpu) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--nodes: ", instance->name, ": has ", instance->gpus, " x ",
        instance->gpu,
        ", which the device catalogue lacks; describe it in a file for "
        "--cluster: {name: mine, nodes: ",
        count, ", gpus_per_node: ", instance->gpus,
        ", gpu: {type: ..., peak_tflops: ..., memory: ..., memory_bandwidth: "
        "...}}"));
  }
  if (count < 1 || count > kMaxNodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--nodes: ", instance->name, "=", count,
        "; expected a positive number of nodes, at most ", kMaxNodes));
  }
  return instance;
}

std::string GigabytesPerSecond(double gigabit_per_s) {
  return absl::StrCat(gigabit_per_s * kAchievedShare / 8, " GB/s");
}

// Returns whether the catalogue's link between nodes, NVLink of a rack, joins
// all of them.
bool AreInOneRack(const CloudInstance& instance, int nodes) {
  return nodes <= instance.per_rack;
}

// Writes the link that networks of such instances make, as a cluster file does.
std::string NetworkText(const CloudInstance& one, const CloudInstance& other) {
  return absl::StrCat(
      "bandwidth: ",
      GigabytesPerSecond(std::min(one.nics * one.gigabit_per_s,
                                  other.nics * other.gigabit_per_s)),
      ", pair_bandwidth: ",
      GigabytesPerSecond(std::min(one.gigabit_per_s, other.gigabit_per_s)),
      ", latency: ",
      one.remote_memory && other.remote_memory ? "20 us" : "50 us");
}

// Writes the group as a cluster file does.
std::string GroupText(const CloudInstance& instance, int nodes) {
  const std::string network =
      absl::StrCat(", inter_node: {", NetworkText(instance, instance), "}");
  return absl::StrCat("  - {name: ", instance.name, ", gpu: ", instance.gpu,
                      ", nodes: ", nodes, ", gpus_per_node: ", instance.gpus,
                      AreInOneRack(instance, nodes) ? "" : network, "}\n");
}

// Groups are joined by the slower of their networks. Where NVLink stands for
// one of these, the network is to be written.
std::string LinksText(absl::Span<const CloudInstance* const> instances,
                      absl::Span<const NodeCount> counts) {
  std::string text;
  for (size_t i = 0; i < instances.size(); ++i) {
    for (size_t j = i + 1; j < instances.size(); ++j) {
      if (!AreInOneRack(*instances[i], counts[i].second) &&
          !AreInOneRack(*instances[j], counts[j].second)) {
        continue;
      }
      absl::StrAppend(&text, "  - {from: ", instances[i]->name,
                      ", to: ", instances[j]->name, ", ",
                      NetworkText(*instances[i], *instances[j]), "}\n");
    }
  }
  return text.empty() ? "" : absl::StrCat("links:\n", text);
}

}  // namespace

absl::StatusOr<Cluster> InstanceCluster(absl::Span<const NodeCount> counts) {
  std::string text = "name: instances\ngroups:\n";
  std::vector<Assumption> networks;
  std::vector<const CloudInstance*> instances;
  for (const NodeCount& wanted : counts) {
    TANGRAM_ASSIGN_OR_RETURN(const CloudInstance* const instance,
                             InstanceOf(wanted));
    if (!AreInOneRack(*instance, wanted.second)) {
      networks.push_back(
          {absl::StrCat("groups[", instance->name, "].inter_node"),
           GigabytesPerSecond(instance->nics * instance->gigabit_per_s),
           absl::StrCat(instance->cloud, " ", instance->name, ": ",
                        instance->nics, " x ", instance->gigabit_per_s,
                        " Gbit/s ", instance->fabric)});
    }
    absl::StrAppend(&text, GroupText(*instance, wanted.second));
    instances.push_back(instance);
  }
  absl::StrAppend(&text, LinksText(instances, counts));
  absl::StatusOr<Cluster> cluster = ParseCluster(text, "--nodes");
  if (cluster.ok()) {
    cluster->assumptions.insert(cluster->assumptions.begin(), networks.begin(),
                                networks.end());
  }
  return cluster;
}

}  // namespace tangram
