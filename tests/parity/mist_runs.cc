#include "tests/parity/mist_runs.h"

#include <utility>

#include "tests/parity/mist_reference.h"

namespace tangram::mist::reference {
namespace {

using nlohmann::json;

// A stage of upstream's plan. All stages have two samples a replica and shard
// only the optimizer state.
struct PlannedStage {
  int recomputed = 0;
  double offload_optimizer = 0;
};

struct Question {
  const char* name;
  int num_gpus;
  int global_batch;
  bool offloads;
  int num_microbatches;
  std::vector<PlannedStage> plan;
};

std::vector<Stage> StagesOf(const Question& question, int num_layers) {
  const int num_stages = static_cast<int>(question.plan.size());
  std::vector<Stage> stages;
  for (const PlannedStage& planned : question.plan) {
    const int stage = static_cast<int>(stages.size());
    const int gpus = question.num_gpus / num_stages;
    stages.push_back(
        {.gpus_per_node = gpus,
         .num_microbatches = question.num_microbatches,
         .policy = {.samples = 2,
                    .dp = gpus,
                    .offload_optimizer = planned.offload_optimizer},
         .layers = num_layers / num_stages,
         .recomputed = planned.recomputed,
         .stages_behind = num_stages - 1 - stage,
         .has_pre = stage == 0,
         .has_post = stage + 1 == num_stages});
  }
  return stages;
}

}  // namespace

std::vector<RecordedRun> ReadRuns(const json& golden, const json& hardware) {
  const Question questions[] = {
      {"tune_test_small", 2, 32, false, 16, {{5}, {0}}},
      {"tune_1p3b_8gpu_gbs64_no_offload", 8, 64, false, 4, {{6}}},
      {"tune_offload_10GB", 2, 32, true, 16, {{12, 0.5}, {7, 1}}},
      {"tune_offload_14GB", 2, 32, true, 16, {{8, 0.625}, {2, 1}}}};
  std::vector<RecordedRun> runs;
  for (const Question& question : questions) {
    const json& answer = golden["runs"][question.name];
    RecordedRun run = {.name = question.name,
                       .tuning = {.hardware = ReadHardware(hardware).at("l4"),
                                  .seconds = ReadSeconds(golden),
                                  .num_gpus = question.num_gpus,
                                  .global_batch = question.global_batch,
                                  .offloads = question.offloads},
                       .iteration_s = answer.contains("best_cost")
                                          ? answer["best_cost"]
                                          : answer["result_cost_s"],
                       .tuning_s = answer["total_s"]};
    if (answer.contains("memory_capacity")) {
      run.tuning.hardware.capacity_mb =
          answer["memory_capacity"].get<double>() * 1024;
    }
    run.plan = StagesOf(question, run.tuning.num_layers);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace tangram::mist::reference
