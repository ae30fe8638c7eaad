#include "coordinator/planners/rivals/hexiscale/hexiscale_costs.h"

#include <algorithm>
#include <vector>

namespace tangram {
namespace {

constexpr double kElementBytes = 2;  // Weights, gradients and activations.

// Found by comparing with runs, for what the closed forms leave out.
constexpr double kPipelineFactor = 1.8;
constexpr double kSyncFactor = 1.1;

// Bytes of the hidden states of a microbatch.
double HiddenBytes(const HexiscaleModel& model, int samples) {
  return samples * model.sequence_length * model.hidden_size * kElementBytes;
}

// Returns the seconds of a layer for one microbatch, forward and backward.
//
// A token takes 2 P FLOPs in the weights of a layer and 4 S A in its attention,
// and the head, dealt out over L layers, 1.5 H V / L. The backward pass takes
// twice the time of the forward pass, and recomputation once more. Each pass
// has two all-reduces of the hidden states, and one takes twice the time in
// which a GPU sends its part to all others.
double LayerSeconds(const HexiscaleInput& input, const HexiscaleStage& stage,
                    int samples) {
  const HexiscaleModel& model = input.model;
  const HexiscaleMachine& machine = input.machines[stage.machine];
  const double passes = input.recompute ? 4 : 3;
  const double all_reduces = input.recompute ? 6 : 4;
  const double tp = stage.tp_degree();
  const double token_flops =
      2 * model.active_parameters +
      4 * model.sequence_length * model.attention_width +
      1.5 * model.hidden_size * model.vocab_size / model.num_layers;
  const double compute_s = passes * samples * model.sequence_length *
                           token_flops / (machine.flops_per_s * tp);
  const double send_s =
      (tp - 1) * HiddenBytes(model, samples) / (tp * machine.bytes_per_s);
  return compute_s + 2 * all_reduces * send_s;
}

// Returns the seconds to hand a microbatch on, forwards and backwards: one GPU
// sends to one, which sends a share to each of the others.
double HandOverSeconds(const HexiscaleInput& input, const HexiscaleStage& from,
                       const HexiscaleStage& to, int samples) {
  const double bytes = HiddenBytes(input.model, samples);
  const double tp = to.tp_degree();
  return 2 * (bytes / input.Bandwidth(from.machine, to.machine) +
              (tp - 1) * bytes / (tp * input.machines[to.machine].bytes_per_s));
}

// Returns the stage that holds each layer.
std::vector<const HexiscaleStage*> HoldersOf(
    const HexiscalePipeline& pipeline) {
  std::vector<const HexiscaleStage*> holders;
  for (const HexiscaleStage& stage : pipeline.stages) {
    holders.insert(holders.end(), stage.num_layers, &stage);
  }
  return holders;
}

// Returns the seconds per byte in which the slowest of `holders`, each of
// another pipeline, hears all others.
double SlowestExchange(const HexiscaleInput& input,
                       const std::vector<const HexiscaleStage*>& holders) {
  double slowest = 0;
  for (const HexiscaleStage* a : holders) {
    double sum = 0;
    for (const HexiscaleStage* b : holders) {
      if (a != b) sum += 1 / input.Bandwidth(a->machine, b->machine);
    }
    slowest = std::max(slowest, sum);
  }
  return slowest;
}

// PipelineSeconds if there are fewer microbatches than stages.
double FewMicrobatchesSeconds(const std::vector<double>& stage_s,
                              int num_microbatches) {
  const int num_stages = static_cast<int>(stage_s.size());
  double sum = 0;
  for (int step = 0; step < num_stages + num_microbatches - 1; ++step) {
    const int begin = std::max(0, step - num_microbatches + 1);
    const int end = std::min(num_stages, step + 1);
    sum += *std::max_element(stage_s.begin() + begin, stage_s.begin() + end);
  }
  return sum;
}

}  // namespace

// The first steps have the stages 0 … k, the last ones k … S - 1, and those
// between have all stages.
double PipelineSeconds(const HexiscaleInput& input,
                       const HexiscalePipeline& pipeline, int samples,
                       int num_microbatches) {
  std::vector<double> stage_s;
  const int num_stages = static_cast<int>(pipeline.stages.size());
  for (int s = 0; s < num_stages; ++s) {
    const HexiscaleStage& stage = pipeline.stages[s];
    double seconds = stage.num_layers * LayerSeconds(input, stage, samples);
    if (s + 1 < num_stages) {
      seconds += HandOverSeconds(input, stage, pipeline.stages[s + 1], samples);
    }
    stage_s.push_back(seconds);
  }
  const int steps_of_all = num_microbatches - num_stages + 1;
  if (steps_of_all < 1)
    return FewMicrobatchesSeconds(stage_s, num_microbatches);
  double sum = 0;
  double first = 0;  // The slowest of stages 0 … s.
  double last = 0;   // The slowest of stages S - 1 - s … S - 1.
  for (int s = 0; s + 1 < num_stages; ++s) {
    first = std::max(first, stage_s[s]);
    last = std::max(last, stage_s[num_stages - 1 - s]);
    sum += first + last;
  }
  return sum + steps_of_all * std::max(first, stage_s.back());
}

// The layer's gradients are cut into as many parts as the least tp degree of
// its holders, and a part of all p pipelines takes
//   2 max over i of sum over j of bytes / (p bandwidth(i, j)),
// once for each of the GPUs of the widest holder that have the same part.
double SyncSeconds(const HexiscaleInput& input,
                   const std::vector<HexiscalePipeline>& pipelines) {
  const double p = static_cast<double>(pipelines.size());
  if (p < 2) return 0;
  const double bytes = input.model.layer_parameters * kElementBytes;
  std::vector<std::vector<const HexiscaleStage*>> holders_by_pipeline;
  for (const HexiscalePipeline& pipeline : pipelines) {
    holders_by_pipeline.push_back(HoldersOf(pipeline));
  }
  std::vector<const HexiscaleStage*> last;
  double last_s = 0;
  double sum = 0;
  for (int layer = 0; layer < input.model.num_layers; ++layer) {
    std::vector<const HexiscaleStage*> holders;
    int least = input.max_tp_degree;
    int most = 1;
    for (const auto& of_pipeline : holders_by_pipeline) {
      holders.push_back(of_pipeline[layer]);
      least = std::min(least, holders.back()->tp_degree());
      most = std::max(most, holders.back()->tp_degree());
    }
    if (holders != last) {  // Neighbours often have the same holders.
      last_s = most / least * 2 * bytes * SlowestExchange(input, holders) /
               (least * p);
      last = std::move(holders);
    }
    sum += last_s;
  }
  return sum;
}

double PlanSeconds(const HexiscaleInput& input, const HexiscalePlan& plan) {
  double slowest = 0;
  for (const HexiscalePipeline& pipeline : plan.pipelines) {
    slowest =
        std::max(slowest, PipelineSeconds(input, pipeline, plan.microbatch_size,
                                          pipeline.num_microbatches));
  }
  return kPipelineFactor * slowest +
         kSyncFactor * SyncSeconds(input, plan.pipelines);
}

// A stage keeps its parameters and the inputs of its layers, which are
// recomputed, with two more in use.
double StageBytes(const HexiscaleInput& input,
                  const HexiscalePipeline& pipeline, int s, int samples) {
  const HexiscaleModel& model = input.model;
  const HexiscaleStage& stage = pipeline.stages[s];
  const int num_stages = static_cast<int>(pipeline.stages.size());
  const double layers = stage.num_layers;
  const double tp = stage.tp_degree();
  const double tp_of_ends = input.defects.whole_ends ? 1 : tp;
  double parameters = layers * model.layer_parameters / tp;
  double pass_bytes = model.pass_bytes;
  if (s == 0) {
    parameters +=
        (model.vocab_size + model.positions) * model.hidden_size / tp_of_ends;
  }
  if (s == num_stages - 1) {
    parameters += (model.vocab_size + 1) * model.hidden_size / tp_of_ends;
    pass_bytes = std::max(pass_bytes, model.head_pass_bytes);
  }
  const double in_flight =
      input.defects.one_in_flight
          ? 1
          : std::min(num_stages - s, pipeline.num_microbatches);
  return model.state_bytes * parameters +
         HiddenBytes(model, samples) * (in_flight * layers / tp + 2) +
         pass_bytes / tp;
}

}  // namespace tangram
