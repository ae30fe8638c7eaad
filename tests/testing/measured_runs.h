#ifndef TANGRAM_TESTS_TESTING_MEASURED_RUNS_H_
#define TANGRAM_TESTS_TESTING_MEASURED_RUNS_H_

#include "cli/validation/measured_run.h"

namespace tangram::testing {

// Returns a run of a GPT of eight layers on one node of eight A100-80, with tp
// 2, two stages and two replicas. It has no measurement.
inline MeasuredRun GptRun() {
  return {.id = "gpt-1",
          .source = "paper",
          .framework = "Megatron-LM",
          .gpu = "A100-80",
          .num_gpus = 8,
          .gpus_per_node = 8,
          .model = "GPT",
          .num_layers = 8,
          .hidden_size = 1024,
          .num_heads = 16,
          .vocab_size = 51200,
          .sequence_length = 1024,
          .global_batch_size = 32,
          .microbatch_size = 2,
          .tp_degree = 2,
          .pp_degree = 2,
          .dp_degree = 2};
}

inline MeasuredRun Took(double iteration_s) {
  MeasuredRun run = GptRun();
  run.iteration_s = iteration_s;
  return run;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_MEASURED_RUNS_H_
