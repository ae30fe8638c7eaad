#ifndef TANGRAM_TESTS_TESTING_TWO_STAGE_PLAN_H_
#define TANGRAM_TESTS_TESTING_TWO_STAGE_PLAN_H_

#include "common/wire/plan_file.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram::testing {

// Returns a stage of two GPUs on a node.
inline PlacedStage StageOnNode(int begin_layer, int end_layer, int node) {
  PlacedStage stage = StageOn(begin_layer, end_layer, {.tp_degree = 2},
                              NodeGpus(node, /*count=*/2));
  stage.island = node;
  stage.made_by = "hand";
  return stage;
}

// Returns a plan on two nodes of two GPUs, with one stage on each and an
// evaluation of round numbers.
inline PlanFile TwoStagePlan() {
  PlanFile file;
  file.cluster = TestCluster(
      {{.name = "fast", .gpus_per_node = 2, .device = TestDevice("F")},
       {.name = "slow", .gpus_per_node = 2, .device = TestDevice("S")}});
  file.model = TestModel(4);
  file.training = TestTraining(32);
  for (int i = 0; i < 2; ++i) {
    file.result.islands.push_back(
        {.id = i,
         .name = i == 0 ? "F x2" : "S x2",
         .nodes = {i},
         .spec = {.device = TestDevice(), .num_nodes = 1, .gpus_per_node = 2}});
  }
  file.result.plan =
      PipelinePlan{.pipeline_microbatch_size = 4,
                   .stages = {StageOnNode(0, 4, 0), StageOnNode(4, 6, 1)}};
  file.result.evaluation = {.iteration_time_s = 2,
                            .samples_per_s = 16,
                            .tokens_per_s = 8192,  // 16 · 512
                            .bubble_fraction = 0.25};
  const StageEvaluation stage{.forward_s = 0.04,
                              .backward_s = 0.08,
                              .peak_bytes = 4e9,
                              .capacity_bytes = 16e9};
  file.result.evaluation.stages = {stage, stage};
  file.result.lower_bound_s = 1.6;
  file.result.closed_form_s = 2;
  return file;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_TWO_STAGE_PLAN_H_
