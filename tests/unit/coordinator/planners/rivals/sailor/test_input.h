#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_RIVALS_SAILOR_TEST_INPUT_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_RIVALS_SAILOR_TEST_INPUT_H_

#include <algorithm>
#include <string>
#include <vector>

#include "coordinator/planners/rivals/sailor/path_table.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"

// Small inputs with round numbers.
namespace tangram::sailor {

// Adds paths of `gb_per_s` between all zones, types and the given degrees.
inline void AddConstantPaths(double gb_per_s, const std::vector<int>& degrees,
                             Input& input) {
  std::vector<Endpoint> ends;
  for (int zone = 0; zone < static_cast<int>(input.zones.size()); ++zone) {
    for (int type = 0; type < static_cast<int>(input.types.size()); ++type) {
      for (const int tp : degrees) ends.push_back({zone, type, tp});
    }
  }
  for (const Endpoint& from : ends) {
    for (const Endpoint& to : ends) {
      input.paths[{from, to}] = {.c = gb_per_s,
                                 .most_bytes_per_s = gb_per_s * 1e9};
    }
  }
}

// Layers of 1 s a pass on the first type, 2 s on the second and so on, with one
// sample a microbatch and tp 1. Each has 1 GB of state, 1 GB of activations, 1
// GB of gradients and sends 1 GB, at 10 GB/s. GPUs have 100 GB. All in one
// zone.
inline Input TestInput(int layers, const std::vector<int>& gpus, int batch) {
  Input input;
  input.global_batch = batch;
  input.zones = {{.name = "z", .region = "r", .gpus = gpus}};
  input.gradient_bytes.assign(layers, 1e9);
  input.boundary_bytes.assign(layers, 1e9);
  for (int type = 0; type < static_cast<int>(gpus.size()); ++type) {
    input.types.push_back(
        {.name = std::string(1, static_cast<char>('A' + type)),
         .memory_bytes = 100e9});
    input.profiles[{type, 1, 1}].layers.assign(
        layers,
        {.pass_s = 1.0 + type, .state_bytes = 1e9, .activation_bytes = 1e9});
  }
  AddConstantPaths(10, {1}, input);
  return input;
}

// The time of a plan by the formulas of the paper, without a search.
inline double SecondsOf(const Plan& plan, const Input& input) {
  const int at_once = plan.samples * plan.dp;
  const int num_microbatches = (input.global_batch + at_once - 1) / at_once;
  const int stages = static_cast<int>(plan.stages.size());
  const auto replica = [&](int stage, int index) {
    for (const ReplicaRun& run : plan.stages[stage].replicas) {
      if (index < run.count) return Endpoint{run.zone, run.type, run.tp};
      index -= run.count;
    }
    return Endpoint{-1, -1, -1};
  };
  double passes = 0, transfers = 0, slowest = 0, reduce = 0, update = 0;
  double received = 0;  // The transfer before the stage.
  for (int s = 0; s < stages; ++s) {
    double pass = 0, sent = 0, bytes = 0, stage_reduce = 0;
    const Stage& stage = plan.stages[s];
    for (int l = stage.first_layer; l < stage.first_layer + stage.num_layers;
         ++l) {
      bytes += input.gradient_bytes[l];
    }
    for (int k = 0; k < plan.dp; ++k) {
      const Endpoint here = replica(s, k);
      const Profile& profile =
          input.profiles.at({here.type, here.gpus, plan.samples});
      double own = 0, step = 0;
      for (int l = stage.first_layer; l < stage.first_layer + stage.num_layers;
           ++l) {
        own += profile.layers[l].pass_s;
        step += profile.layers[l].update_s;
      }
      pass = std::max(pass, own);
      update = std::max(update, step);
      for (int other = 0; other < plan.dp; ++other) {
        if (other == k) continue;
        stage_reduce = std::max(
            stage_reduce, ReduceTime(input.paths.at({here, replica(s, other)}),
                                     bytes, plan.dp, false));
      }
      if (s + 1 == stages) continue;
      const int last = stage.first_layer + stage.num_layers - 1;
      sent = std::max(
          sent, SendTime(input.paths.at({here, replica(s + 1, k)}),
                         input.boundary_bytes[last] * plan.samples, false));
    }
    slowest = std::max(slowest, received + pass + sent);
    passes += pass;
    transfers += 2 * sent;
    reduce = std::max(reduce, stage_reduce);
    received = sent;
  }
  return (num_microbatches - 1) * slowest + passes + transfers + reduce +
         update;
}

}  // namespace tangram::sailor

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_PLANNERS_RIVALS_SAILOR_TEST_INPUT_H_
