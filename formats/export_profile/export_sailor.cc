#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/export_profile/export_profile.h"
#include "formats/export_profile/json_text.h"
#include "nlohmann/json.hpp"

// Files of Sailor (SOSP 2025): layer times and sizes, the training, and
// bandwidths between GPU types. All nodes are in one zone.
namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kZone[] = "zone";

// {samples: {tp: {layer: [forward, backward, update]}}}
Json TimesOf(const LayerProfiles& profiles, int type) {
  Json times = Json::object();
  for (const auto& [key, layers] : profiles.layers) {
    if (key.type != type) continue;
    Json by_layer = Json::object();
    for (size_t l = 0; l < layers.size(); ++l) {
      by_layer[absl::StrCat(l)] = {layers[l].forward_s, layers[l].backward_s,
                                   layers[l].optimizer_s};
    }
    times[absl::StrCat(key.samples)][absl::StrCat(key.tp_degree)] =
        std::move(by_layer);
  }
  return times;
}

// {tp: {layer: {params_floats, ...}}}, for one sample. Sailor multiplies each
// by the bytes of an element.
Json SizesOf(const ProfiledJob& job) {
  const double element_bytes = ElementBytes(job.training.precision);
  const double boundary =
      job.profiles.boundary_bytes_per_sample / element_bytes;
  Json sizes = Json::object();
  for (const auto& [key, layers] : job.profiles.layers) {
    const std::string tp = absl::StrCat(key.tp_degree);
    if (key.samples != 1 || sizes.contains(tp)) continue;
    for (size_t l = 0; l < layers.size(); ++l) {
      sizes[tp][absl::StrCat(l)] = {
          {"params_floats", layers[l].parameters},
          {"act_mem_floats", layers[l].activation_bytes / element_bytes},
          {"act_output_floats", l + 1 < layers.size() ? boundary : 0.0},
          {"act_input_floats", l > 0 ? boundary : 0.0}};
    }
  }
  return sizes;
}

// A parabola in log2 of the message, here a constant, and the highest rate.
Json RateOf(const Link& link, int num_gpus) {
  const double bytes_per_s = std::min(
      link.bandwidth_bytes_per_s, num_gpus * link.pair_bandwidth_bytes_per_s);
  return {{0.0, 0.0, bytes_per_s / 1e9}, bytes_per_s};
}

// The link from a node of one type to a node of another. Inside a type of one
// node it is that inside the node.
Link LinkOf(const ProfiledJob& job, int from_type, int to_type) {
  const std::vector<int>& type_of = job.profiles.type_of_node;
  int from = -1;
  for (int n = 0; n < static_cast<int>(type_of.size()); ++n) {
    if (from < 0 && type_of[n] == from_type) {
      from = n;
    }
  }
  for (int n = 0; n < static_cast<int>(type_of.size()); ++n) {
    if (n != from && type_of[n] == to_type) {
      return job.cluster.LinkBetween(from, n);
    }
  }
  return job.cluster.nodes[from].intra_node;
}

// {zone: {gpu: {n: {zone: {gpu: {n: rate}}}}}}
Json RatesOf(const ProfiledJob& job) {
  Json rates = Json::object();
  const std::vector<ProfiledType>& types = job.profiles.types;
  for (int from = 0; from < static_cast<int>(types.size()); ++from) {
    for (const auto& [sent, sent_layers] : job.profiles.layers) {
      if (sent.type != from || sent.samples != 1) continue;
      Json& sender =
          rates[kZone][types[from].name][absl::StrCat(sent.tp_degree)][kZone];
      for (const auto& [got, got_layers] : job.profiles.layers) {
        if (got.samples != 1) continue;
        const int num_gpus = std::min(sent.tp_degree, got.tp_degree);
        sender[types[got.type].name][absl::StrCat(got.tp_degree)] =
            RateOf(LinkOf(job, from, got.type), num_gpus);
      }
    }
  }
  return rates;
}

std::string TrainingText(const ProfiledJob& job) {
  const LayerSpec& layer = job.model.layers[1];
  const int num_all = job.model.num_layers();
  return JsonText({{"model", job.model.name},
                   {"optimizer", "Adam"},
                   {"global_batch_size", job.training.global_batch_size},
                   {"num_layers", num_all - 2},
                   {"num_all_layers", num_all},
                   {"hidden_size", layer.hidden_size},
                   {"sequence_length", job.training.sequence_length},
                   {"heads", layer.num_heads},
                   {"vocab_size", job.model.layers.front().vocab_size}});
}

}  // namespace

ProfileExport ExportSailor(const ProfiledJob& job) {
  ProfileExport result;
  std::map<std::string, std::map<std::string, int>> quotas;
  for (int type = 0; type < static_cast<int>(job.profiles.types.size());
       ++type) {
    const std::string& gpu = job.profiles.types[type].name;
    result.files.push_back(
        {absl::StrCat("profiles/", job.model.name, "/", gpu, "/profile.json"),
         JsonText(TimesOf(job.profiles, type))});
  }
  for (size_t n = 0; n < job.cluster.nodes.size(); ++n) {
    const int type = job.profiles.type_of_node[n];
    quotas[job.profiles.types[type].name][kZone] +=
        job.cluster.nodes[n].num_gpus;
  }
  result.files.push_back(
      {"llm_info.json", JsonText({{job.model.name, SizesOf(job)}})});
  result.files.push_back({"training_config.json", TrainingText(job)});
  result.files.push_back(
      {"multizone_bandwidths_het.json", JsonText(RatesOf(job))});
  result.files.push_back({"quotas.json", JsonText(quotas)});
  result.notes = {
      "sailor: bandwidths do not depend on the size of a message, and "
      "latencies "
      "are left out",
      "sailor: activations are counted in elements of the training's "
      "precision"};
  return result;
}

}  // namespace tangram
