#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_INPUT_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

// The input and the plans of HexiScale's scheduler ("HexiScale: Facilitating
// Large Language Model Training over Heterogeneous Hardware", MLSys 2026; first
// published as FlashFlex).
namespace tangram {

struct HexiscaleMachine {
  int num_gpus = 0;         // They have one type.
  double flops_per_s = 0;   // Per GPU, as reached.
  double memory_bytes = 0;  // Per GPU.
  double bytes_per_s = 0;   // Between any two of its GPUs.
  int group = 0;            // Indexes HexiscaleInput::links.
};

// A model of equal layers between an embedding and a head.
struct HexiscaleModel {
  int num_layers = 0;
  double hidden_size = 0;
  double attention_width = 0;  // Heads times the size of a head.
  double sequence_length = 0;
  double vocab_size = 0;
  double positions = 0;          // Learned position embeddings.
  double layer_parameters = 0;   // 12 H² in GPT.
  double active_parameters = 0;  // Work on each token, per layer.
  // Weights, gradients and optimizer state, for each parameter.
  double state_bytes = 8;
  // Needed by a pass of a layer, and of the head, beside what is kept, without
  // tensor parallelism.
  double pass_bytes = 0;
  double head_pass_bytes = 0;
};

// The ways in which the released scheduler differs from its description.
struct HexiscaleDefects {
  // The samples of a microbatch and their number are those of
  // `first_pipelines` pipelines, whatever the number of a candidate. So the
  // samples of an iteration are too few or too many for all others.
  bool constant_microbatches = false;
  // Every pipeline runs the same number of microbatches. Otherwise faster ones
  // run more.
  bool even_shares = false;
  // Groups follow each other over the least bandwidth. Otherwise their order is
  // the one in which the pipeline takes the least time.
  bool slow_order = false;
  // GPUs of a machine are cut into the stages that run the whole model fastest
  // alone. Otherwise into those that do so in their pipeline, if the whole plan
  // becomes faster.
  bool stages_alone = false;
  // The numbers of pipelines and of groups are random. Otherwise they are tried
  // in turn at first.
  bool random_walk = false;
  // Stages hold the inputs of layers for one microbatch, not for all in flight.
  bool one_in_flight = false;
  // Tensor parallelism does not divide the embedding and the head.
  bool whole_ends = false;

  static HexiscaleDefects AsReleased() {
    return {.constant_microbatches = true,
            .even_shares = true,
            .slow_order = true,
            .stages_alone = true,
            .random_walk = true,
            .one_in_flight = true,
            .whole_ends = true};
  }
};

struct HexiscaleInput {
  std::vector<HexiscaleMachine> machines;  // GPUs count machine by machine.
  // links[a][b]: bytes per second between machines of groups a and b.
  std::vector<std::vector<double>> links;
  HexiscaleModel model;
  int global_batch_size = 0;
  // Samples of a microbatch; with constant_microbatches those of all
  // `first_pipelines` pipelines together.
  int microbatch_size = 0;
  int max_tp_degree = 8;    // A power of two.
  bool recompute = true;    // All layers, in the backward pass.
  int first_pipelines = 1;  // The number at which the walk begins.
  int iterations = 50;
  uint32_t seed = 40404;
  HexiscaleDefects defects;

  int num_gpus() const {
    int sum = 0;
    for (const HexiscaleMachine& machine : machines) sum += machine.num_gpus;
    return sum;
  }
  // Between two GPUs of these machines, in bytes per second.
  double Bandwidth(int a, int b) const {
    return a == b ? machines[a].bytes_per_s
                  : links[machines[a].group][machines[b].group];
  }
};

// A stage on GPUs of one machine, with tensor parallelism over all of them.
struct HexiscaleStage {
  int machine = 0;
  std::vector<int> gpus;  // As the cluster counts them.
  int num_layers = 0;     // 0: the GPUs only hand data on.
  bool operator==(const HexiscaleStage&) const = default;

  int tp_degree() const { return static_cast<int>(gpus.size()); }
};

struct HexiscalePipeline {
  std::vector<HexiscaleStage> stages;
  int num_microbatches = 0;
  bool operator==(const HexiscalePipeline&) const = default;
};

struct HexiscalePlan {
  size_t input = 0;  // Index of the input that it was made for.
  std::vector<HexiscalePipeline> pipelines;
  int microbatch_size = 0;
  double iteration_s = 0;  // As the scheduler predicts.
  bool operator==(const HexiscalePlan&) const = default;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_INPUT_H_
