#ifndef TANGRAM_TESTS_PARITY_HEXISCALE_RUNS_H_
#define TANGRAM_TESTS_PARITY_HEXISCALE_RUNS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/planners/rivals/hexiscale/hexiscale_input.h"
#include "tests/parity/reference_data.h"

namespace tangram::testing {

// A run of the released scheduler: its input, its best plan and its figures.
struct ReleasedRun {
  HexiscaleInput input;  // With all defects.
  HexiscalePlan plan;
  std::vector<std::vector<double>> stage_bytes;  // By pipeline.
  double iteration_s = 0;
  double search_s = 0;
};

// The scheduler counts TFLOP/s and GB/s in powers of two.
inline HexiscaleMachine ReleasedMachine(const std::string& type, int num_gpus) {
  struct Spec {
    double tflops, gb, gb_per_s;
  };
  static const std::map<std::string, Spec> kSpecs = {
      {"A100", {312, 80, 200}},    {"A100-40", {312, 40, 250}},
      {"V100-16", {125, 16, 150}}, {"3080Ti", {56.9, 12, 20}},
      {"3090", {80, 24, 2}},       {"4090", {165.2, 24, 2}},
      {"4090-4", {165.2, 24, 20}}};
  const Spec& spec = kSpecs.at(type);
  return {.num_gpus = num_gpus,
          .flops_per_s = spec.tflops * 0x1p40,
          .memory_bytes = spec.gb * 0x1p30,
          .bytes_per_s = spec.gb_per_s * 0x1p30};
}

// The machines of each run: type, GPUs in a machine, machines.
struct ReleasedMachines {
  std::string type;
  int num_gpus = 0;
  int count = 0;
};

inline const std::map<std::string, std::vector<ReleasedMachines>>&
ReleasedClusters() {
  static const std::vector<ReleasedMachines> kPaperA = {
      {"3080Ti", 8, 1}, {"3090", 8, 1}, {"4090", 8, 3}};
  static const std::vector<ReleasedMachines> kPaperB = {
      {"3080Ti", 8, 1}, {"3090", 8, 1}, {"4090", 8, 1}, {"A100", 8, 1}};
  static const std::vector<ReleasedMachines> kPaperC = {
      {"3090", 8, 1}, {"4090-4", 4, 2}, {"4090", 8, 4}, {"A100", 8, 1}};
  static const std::map<std::string, std::vector<ReleasedMachines>> kClusters =
      {{"sample", {{"A100", 3, 1}, {"4090", 3, 1}, {"3090", 2, 1}}},
       {"av16_7b", {{"A100-40", 4, 2}, {"V100-16", 4, 2}}},
       {"av64_7b", {{"A100-40", 4, 8}, {"V100-16", 4, 8}}},
       {"av128_7b", {{"A100-40", 4, 16}, {"V100-16", 4, 16}}},
       {"paperA_7b", kPaperA},
       {"paperA5_7b", kPaperA},
       {"paperB_7b", kPaperB},
       {"paperB5_7b", kPaperB},
       {"paperC_30b", kPaperC},
       {"paperC5_30b", kPaperC}};
  return kClusters;
}

inline HexiscaleModel ReleasedModel(const std::string& name) {
  const bool is_30b = name == "llama-30b";
  const double hidden = is_30b ? 6656 : 4096;
  return {.num_layers = is_30b ? 60 : 32,
          .hidden_size = hidden,
          .attention_width = hidden,
          .sequence_length = 4096,
          .vocab_size = 32000,
          .positions = 4096,
          .layer_parameters = 12 * hidden * hidden,
          .active_parameters = 12 * hidden * hidden};
}

// Empty: there is no data.
inline std::optional<ReleasedRun> ReadReleasedRun(const std::string& name) {
  const auto json = ReadReferenceData("hexiscale/" + name + ".json");
  if (!json) return std::nullopt;
  ReleasedRun run{.iteration_s = (*json)["predicted_iter_s"],
                  .search_s = (*json)["wall_s"]};
  HexiscaleInput& input = run.input;
  for (const ReleasedMachines& machines : ReleasedClusters().at(name)) {
    input.machines.insert(input.machines.end(), machines.count,
                          ReleasedMachine(machines.type, machines.num_gpus));
  }
  input.links = {{(*json)["inter_bw_GBps"].get<double>() * 0x1p30}};
  input.model = ReleasedModel((*json)["model"]);
  input.global_batch_size = (*json)["global_bsz"];
  input.microbatch_size = (*json)["micro_bsz"];
  input.first_pipelines = (*json)["npipeline_start"];
  input.seed = (*json)["seed"];
  input.defects = HexiscaleDefects::AsReleased();
  run.plan.microbatch_size = input.microbatch_size / input.first_pipelines;
  for (const auto& pipeline : (*json)["pipelines"]) {
    HexiscalePipeline& read = run.plan.pipelines.emplace_back();
    read.num_microbatches = input.global_batch_size / input.microbatch_size;
    for (size_t s = 0; s < pipeline["layers"].size(); ++s) {
      read.stages.push_back(
          {.machine = pipeline["machines"][s][0],
           .gpus = std::vector<int>(pipeline["tp_per_stage"][s].get<int>()),
           .num_layers = pipeline["layers"][s]});
    }
    std::vector<double>& bytes = run.stage_bytes.emplace_back();
    for (const double gb : pipeline["mem_gb"]) bytes.push_back(gb * 0x1p30);
  }
  return run;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_PARITY_HEXISCALE_RUNS_H_
