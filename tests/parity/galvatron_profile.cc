#include "tests/parity/galvatron_profile.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/parity/reference_data.h"

namespace tangram::parity {
namespace {

using nlohmann::json;

constexpr char kModel[] = "llama2-7b";
constexpr char kSequence[] = "2048";

json Read(const std::string& file) {
  return testing::ReadReferenceData("galvatron/" + file).value_or(json());
}

// Returns the entry that was made from a file of that name.
const json& EntryOf(const json& entries, const std::string& file_suffix) {
  for (const json& entry : entries) {
    if (absl::EndsWith(entry["source"]["file"].get<std::string>(),
                       file_suffix)) {
      return entry;
    }
  }
  std::abort();
}

std::map<int, double> ByDegree(const json& values) {
  std::map<int, double> by_degree;
  for (const auto& [degree, value] : values.items()) {
    if (degree != "checkpoint") by_degree[std::stoi(degree)] = value;
  }
  return by_degree;
}

EndMegabytes EndOf(const json& processed, const std::string& key) {
  const json& end = processed[key][kSequence];
  return {.model_states = ByDegree(end["model_states"]),
          .activation = ByDegree(end["activation"])};
}

void ReadMemory(const json& processed, GalvatronProfile& profile) {
  const json& layer = processed["layertype_0_sp"][kSequence];
  const json& activation = layer["tp_activation_per_bsz_dict"];
  profile.layer_parameter_mb = layer["parameter_size"];
  profile.layer_activation_mb = ByDegree(activation);
  profile.checkpoint_activation_mb = activation["checkpoint"];
  profile.both_ends = EndOf(processed, "other_memory_pp_off_sp");
  profile.first_end = EndOf(processed, "other_memory_pp_on_first_sp");
  profile.last_end = EndOf(processed, "other_memory_pp_on_last_sp");
}

void ReadCompute(const json& layers, GalvatronProfile& profile) {
  MeasuredPoints layer;
  MeasuredPoints ends;
  for (const json& point : layers) {
    const double samples = point["bsz"];
    const double ms =
        samples * point["fwd_ms_per_layer_per_sample"].get<double>();
    (point["layertype"] == "0" ? layer : ends)[samples] = ms;
  }
  profile.layer_forward_ms = FitLine(layer);
  profile.ends_forward_ms = FitLine(ends);
}

void ReadHardware(const json& hardware, GalvatronProfile& profile) {
  const std::string node = "1nodes_8gpus_per_node.json";
  for (const json& row :
       EntryOf(hardware, "allreduce_bandwidth_" + node)["busbw_GBps"]) {
    profile.allreduce_ms_per_mb[{row["group"], row["consecutive"]}] =
        1 / row["gbps"].get<double>();
  }
  // A group of one rank moves nothing; a group of all GPUs is consecutive in
  // either case.
  for (const bool consecutive : {false, true}) {
    profile.allreduce_ms_per_mb[{1, consecutive}] = 0;
    profile.allreduce_ms_per_mb[{profile.num_gpus, consecutive}] =
        profile.allreduce_ms_per_mb.at({profile.num_gpus, true});
  }
  for (const json& row :
       EntryOf(hardware, "p2p_bandwidth_" + node)["p2p_GBps"]) {
    profile.p2p_ms_per_mb[row["pp"]] = 1 / row["gbps"].get<double>();
  }
  for (const json& row :
       EntryOf(hardware, "sp_time_" + node)["collective_ms"]) {
    auto& tables =
        row["op"] == "allreduce" ? profile.allreduce_ms : profile.all_to_all_ms;
    tables[row["group"]][row["size_MB"]] = row["ms"];
  }
  profile.overlap_slowdown =
      EntryOf(hardware, "overlap_coefficient.json")["overlap_coe"];
}

std::string EndsStrategyOf(const json& row) {
  const int pp = row["pp"];
  const int degree = row["vtp"];
  const int dp = row["gpus"].get<int>() / pp / degree;
  return absl::StrCat(pp, "-", degree, degree > 1 ? "*-" : "-", dp,
                      row["embed_sdp"] == 1 && dp > 1 ? "f" : "",
                      row["vsp"] == 1 && degree > 1 ? "-sp" : "");
}

// Parses "llama2-7b-8L-gbsz8-8GB-noSP-noCKPT", perhaps with a remark after a
// space.
void ApplyName(GalvatronRun& run) {
  const std::vector<std::string> words = absl::StrSplit(run.name, ' ');
  run.name = words.front();
  for (const absl::string_view part : absl::StrSplit(run.name, '-')) {
    if (part == "noSP") run.ulysses = false;
    if (part == "noCKPT") run.checkpoints = false;
    if (part == "ddp") run.zero2 = false;
    if (part == "coarse") run.fine_grained = false;
    if (absl::StartsWith(part, "chunk")) {
      run.chunks = std::stoi(std::string(part.substr(5)));
    }
  }
}

}  // namespace

LinearFit FitLine(const MeasuredPoints& points) {
  double mean_x = 0;
  double mean_y = 0;
  for (const auto& [x, y] : points) {
    mean_x += x / static_cast<double>(points.size());
    mean_y += y / static_cast<double>(points.size());
  }
  double covariance = 0;
  double variance = 0;
  for (const auto& [x, y] : points) {
    covariance += (x - mean_x) * (y - mean_y);
    variance += (x - mean_x) * (x - mean_x);
  }
  const double slope = covariance / variance;
  return {.slope = slope, .offset = mean_y - slope * mean_x};
}

std::vector<GalvatronRun> ReadGalvatronRuns() {
  std::vector<GalvatronRun> runs;
  const json file = Read("search_runs_here.json");
  if (file.is_null()) return runs;
  for (const json& row : file["runs"]) {
    GalvatronRun run = {.name = row["name"],
                        .memory_gb = row["memory_gb"],
                        .global_batch = row["gbsz"],
                        .num_layers = row["layers"],
                        .time_s = row["time_cost_s"],
                        .num_layer_strategies = row["layer_strategies"],
                        .num_tasks = row["tasks"],
                        .search_s = row["search_s"]};
    run.found_chunks = row["chunks"];
    for (const json& part : row["strategies_rle"]) {
      run.strategies.insert(run.strategies.end(), part[1].get<int>(), part[0]);
    }
    run.ends_strategy = EndsStrategyOf(row);
    ApplyName(run);
    runs.push_back(std::move(run));
  }
  return runs;
}

GalvatronProfile ReadGalvatronProfile() {
  const std::string configs = "gpt/configs/";
  const std::string model = std::string("_bf16_") + kModel + "_all.json";
  GalvatronProfile profile = {
      .hidden_size = 4096, .sequence_length = 2048, .num_gpus = 8};
  ReadMemory(EntryOf(Read("memory_profiles.json")["memory"],
                     configs + "memory_profiling" + model)["processed"],
             profile);
  ReadCompute(EntryOf(Read("compute_profiles.json")["compute"],
                      configs + "computation_profiling" + model)["layers"],
              profile);
  ReadHardware(Read("hardware_profiles.json")["hardware"], profile);
  return profile;
}

}  // namespace tangram::parity
