#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/export_profile/export_profile.h"
#include "formats/export_profile/json_text.h"
#include "nlohmann/json.hpp"

// Files of Metis (ATC 2024): a profile for each GPU type, tp degree and number
// of samples, a host file, and a cluster file.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMsPerS = 1e3;
constexpr double kBytesPerMb = 1 << 20;
constexpr double kBytesPerGb = 1 << 30;

// The GPU types that Metis has names for.
constexpr absl::string_view kKnownTypes[] = {"A100", "P100", "T4", "V100"};

// Metis takes the time of a step beyond its layers as synchronisation, and
// drops profiles where it is 0.
constexpr double kBeyondLayersMs = 1e-3;

// Metis reads the name of a type as letters and digits, and has few: that of
// "V100-16" is "V100", unless there is another V100.
std::vector<std::string> TypeNames(const std::vector<ProfiledType>& types) {
  const auto family_of = [](const ProfiledType& type) {
    return type.name.substr(0, type.name.find('-'));
  };
  std::vector<std::string> names;
  for (const ProfiledType& type : types) {
    const std::string family = family_of(type);
    const bool is_alone =
        absl::c_count_if(types, [&](const ProfiledType& other) {
          return family_of(other) == family;
        }) == 1;
    std::string& name = names.emplace_back();
    absl::c_copy_if(is_alone ? family : type.name, std::back_inserter(name),
                    [](char c) { return absl::ascii_isalnum(c); });
  }
  return names;
}

// Metis divides MiB by a bandwidth for the time in ms.
double MibPerMs(double bytes_per_s) {
  return bytes_per_s / kBytesPerMb / kMsPerS;
}

std::string ProfileText(const ProfiledJob& job, const ProfileKey& key,
                        const std::vector<LayerProfile>& layers) {
  const double element_bytes = ElementBytes(job.training.precision);
  Json layer_ms = Json::array();
  Json layer_mb = Json::array();
  Json layer_bytes = Json::array();
  double total_ms = 0;
  double optimizer_ms = 0;
  double total_mb = 0;
  double total_bytes = 0;
  for (const LayerProfile& layer : layers) {
    const double ms = kMsPerS * (layer.forward_s + layer.backward_s);
    const double mb =
        (layer.state_bytes + layer.activation_bytes) / kBytesPerMb;
    const double bytes = layer.parameters * key.tp_degree * element_bytes;
    layer_ms.push_back(ms);
    layer_mb.push_back(mb);
    layer_bytes.push_back(bytes);
    total_ms += ms;
    total_mb += mb;
    total_bytes += bytes;
    optimizer_ms += kMsPerS * layer.optimizer_s;
  }
  return JsonText(
      {{"model",
        {{"model_name", job.model.name},
         {"num_layers", layers.size()},
         {"parameters",
          {{"total_parameters_bytes", total_bytes},
           {"parameters_per_layer_bytes", std::move(layer_bytes)}}}}},
       {"execution_time",
        {{"total_time_ms", total_ms + optimizer_ms + kBeyondLayersMs},
         {"forward_backward_time_ms", total_ms + kBeyondLayersMs},
         {"batch_generator_time_ms", 0.0},
         {"layernorm_grads_all_reduce_time_ms", 0.0},
         {"embedding_grads_all_reduce_time_ms", 0.0},
         {"optimizer_time_ms", optimizer_ms},
         {"layer_compute_total_ms", std::move(layer_ms)}}},
       {"execution_memory",
        {{"total_memory", total_mb},
         {"layer_memory_total_mb", std::move(layer_mb)}}}});
}

// Hosts of Metis have equally many GPUs, so larger nodes are several.
int GpusPerHost(const Cluster& cluster) {
  int common = 0;
  for (const Node& node : cluster.nodes) {
    common = std::gcd(common, node.num_gpus);
  }
  return common;
}

void AddHosts(const ProfiledJob& job, const std::vector<std::string>& types,
              ProfileExport& result) {
  const int gpus_per_host = GpusPerHost(job.cluster);
  std::string hosts;
  Json cluster = Json::object();
  bool divided = false;
  // Hosts of one type stand together, as Metis wants them.
  for (int type = 0; type < static_cast<int>(job.profiles.types.size());
       ++type) {
    for (size_t n = 0; n < job.cluster.nodes.size(); ++n) {
      if (job.profiles.type_of_node[n] != type) continue;
      const Node& node = job.cluster.nodes[n];
      const int num_hosts = node.num_gpus / gpus_per_host;
      divided |= num_hosts > 1;
      for (int h = 0; h < num_hosts; ++h) {
        const std::string host =
            num_hosts == 1 ? node.name : absl::StrCat(node.name, ".", h);
        absl::StrAppend(&hosts, host, " slots=", gpus_per_host, "\n");
        const int index = static_cast<int>(n);
        cluster[host] = {
            {"instance_type", types[type]},
            {"inter_bandwidth",
             MibPerMs(
                 job.cluster.LinkBetween(index, index).bandwidth_bytes_per_s)},
            {"intra_bandwidth",
             MibPerMs(node.intra_node.bandwidth_bytes_per_s)},
            {"memory", node.device.memory_bytes / kBytesPerGb}};
      }
    }
  }
  if (divided) {
    result.notes.push_back(
        absl::StrCat("metis: hosts have equally many GPUs, so nodes are "
                     "written as hosts of ",
                     gpus_per_host));
  }
  result.files.push_back({"hostfile", std::move(hosts)});
  result.files.push_back({"clusterfile.json", JsonText(cluster)});
}

}  // namespace

ProfileExport ExportMetis(const ProfiledJob& job) {
  ProfileExport result;
  const std::vector<std::string> types = TypeNames(job.profiles.types);
  for (const auto& [key, layers] : job.profiles.layers) {
    result.files.push_back(
        {absl::StrCat("profiles/DeviceType.", types[key.type], "_tp",
                      key.tp_degree, "_bs", key.samples, ".json"),
         ProfileText(job, key, layers)});
  }
  AddHosts(job, types, result);
  for (const std::string& type : types) {
    if (absl::c_linear_search(kKnownTypes, type)) continue;
    result.notes.push_back(absl::StrCat("metis: add ", type,
                                        " to its DeviceType, which only has ",
                                        absl::StrJoin(kKnownTypes, ", ")));
  }
  result.notes.push_back(
      "metis: layer memory is model state and activations of one microbatch; "
      "Metis multiplies it by 5");
  result.notes.push_back(
      "metis: the bandwidth between hosts is that inside a group of nodes; "
      "Metis knows none between groups");
  return result;
}

}  // namespace tangram
