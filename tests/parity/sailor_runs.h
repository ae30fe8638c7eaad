#ifndef TANGRAM_TESTS_PARITY_SAILOR_RUNS_H_
#define TANGRAM_TESTS_PARITY_SAILOR_RUNS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"
#include "nlohmann/json.hpp"
#include "tests/parity/reference_data.h"

// Runs of the released planner, from a folder of shared data.
namespace tangram::sailor {

inline constexpr char kReferenceZone[] = "us-central1-a";

// One run.
struct ReferenceRun {
  std::string model;
  std::string cluster;  // "32xA100-40+32xV100-16"
  int global_batch = 0;
  int num_plans = 0;
  double tables_s = 0;  // CPU.
  double search_s = 0;  // Likewise.
  std::string iteration_s;
  std::string plan;
};

// Returns the rows of a CSV file without comments and the header.
inline std::vector<std::vector<std::string>> ReadRows(const std::string& name) {
  std::vector<std::vector<std::string>> rows;
  const std::string text =
      testing::ReadReferenceText("sailor/" + name).value_or("");
  for (std::string line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    absl::StripTrailingAsciiWhitespace(&line);
    if (line.empty() || line[0] == '#') continue;
    rows.push_back(absl::StrSplit(line, ','));
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

inline std::vector<ReferenceRun> ReadReferenceRuns() {
  std::vector<ReferenceRun> runs;
  for (const auto& row : ReadRows("sailor_planner_runs.csv")) {
    ReferenceRun run{.model = row[0], .cluster = row[1]};
    run.global_batch = std::stoi(row[2]);
    run.tables_s = std::stod(row[4]);
    run.search_s = std::stod(row[6]);
    run.num_plans = std::stoi(row[7]);
    run.iteration_s = row[10];
    run.plan = row[15];
    runs.push_back(std::move(run));
  }
  return runs;
}

// Adds the profiles of one GPU type. The released planner has the figures of
// memory of tp 1, 2 and 4, in floats of 4 bytes, and takes 24 bytes a
// parameter.
inline void AddProfiles(const std::string& model, int type, Input& input) {
  const nlohmann::json file = *testing::ReadReferenceData(absl::StrCat(
      "sailor/layer_profiles/", model, "__", input.types[type].name, ".json"));
  for (const auto& [samples, by_tp] : file["profiles"].items()) {
    for (const auto& [tp, times] : by_tp.items()) {
      if (!file["memory"].contains(tp)) continue;
      const auto& memory = file["memory"][tp];
      Profile& profile =
          input.profiles[{type, std::stoi(tp), std::stoi(samples)}];
      profile.reserved_bytes = tp == "1" ? 2e9 : 3e9;
      for (size_t i = 0; i < times["fwd_s"].size(); ++i) {
        profile.layers.push_back(
            {.pass_s = times["fwd_s"][i].get<double>() +
                       times["bwd_s"][i].get<double>(),
             .update_s = times["update_s"][i].get<double>(),
             .state_bytes = memory["params_floats"][i].get<double>() * 24,
             .activation_bytes = memory["act_mem_floats"][i].get<double>() * 4 *
                                 std::stoi(samples)});
      }
    }
  }
  const auto& whole = file["memory"]["1"];
  input.gradient_bytes.clear();
  input.boundary_bytes.clear();
  for (size_t i = 0; i < whole["params_floats"].size(); ++i) {
    input.gradient_bytes.push_back(4 * whole["params_floats"][i].get<double>());
    input.boundary_bytes.push_back(4 *
                                   whole["act_output_floats"][i].get<double>());
  }
}

// Adds the paths between the types of the input.
inline void AddPaths(Input& input) {
  std::map<std::string, int> types;
  for (size_t i = 0; i < input.types.size(); ++i) {
    types[input.types[i].name] = static_cast<int>(i);
  }
  for (const auto& row : ReadRows("network/gcp_alps_mit_inter.csv")) {
    if (row[0] != kReferenceZone || row[3] != kReferenceZone) continue;
    const auto from = types.find(row[1]);
    const auto to = types.find(row[4]);
    if (from == types.end() || to == types.end()) continue;
    input.paths[{{0, from->second, std::stoi(row[2])},
                 {0, to->second, std::stoi(row[5])}}] = {
        .a = std::stod(row[6]),
        .b = std::stod(row[7]),
        .c = std::stod(row[8]),
        .most_bytes_per_s = std::stod(row[9]) * 1e9};
  }
}

inline Input InputOf(const ReferenceRun& run) {
  Input input;
  input.global_batch = run.global_batch;
  input.zones = {{.name = kReferenceZone, .region = "us-central1", .gpus = {}}};
  for (const auto part : absl::StrSplit(run.cluster, '+')) {
    const std::vector<std::string> words =
        absl::StrSplit(part, absl::MaxSplits('x', 1));
    const std::vector<std::string> name = absl::StrSplit(words[1], '-');
    input.types.push_back(
        {.name = words[1], .memory_bytes = std::stod(name[1]) * (1 << 30)});
    input.zones[0].gpus.push_back(std::stoi(words[0]));
  }
  for (size_t i = 0; i < input.types.size(); ++i) {
    AddProfiles(run.model, static_cast<int>(i), input);
  }
  AddPaths(input);
  return input;
}

// Returns a plan as the runs give it.
inline std::string Describe(const Plan& plan, const Input& input) {
  std::vector<std::string> stages;
  for (const Stage& stage : plan.stages) {
    std::vector<std::string> runs;
    for (const ReplicaRun& run : stage.replicas) {
      runs.push_back(absl::StrCat(run.count, "*", input.types[run.type].name,
                                  "xTP", run.tp));
    }
    stages.push_back(
        absl::StrCat(stage.num_layers, "L:", absl::StrJoin(runs, "+")));
  }
  return absl::StrCat("mbs=", plan.samples, " pp=", plan.stages.size(),
                      " dp=", plan.dp, " [", absl::StrJoin(stages, " | "), "]");
}

}  // namespace tangram::sailor

#endif  // TANGRAM_TESTS_PARITY_SAILOR_RUNS_H_
