// Measures how soon each parallelizer returns after a cancel, on slices up to
// the largest. Run by hand:
//
//   cancel_latency [seconds before the cancel, 2]
//
// Prints two times for each parallelizer, model and island: the longest time
// between two polls of should_stop, and the time from the cancel to the return.
// Both must stay below half a second, so that a plan stops within one.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/domain/limits.h"
#include "common/obs/clocks.h"
#include "tests/testing/builders.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

struct Shape {
  std::string name;
  ModelSpec model;
};

// Returns a model whose layer widths repeat after `period`.
ModelSpec Periodic(int num_layers, int period) {
  ModelSpec model = testing::TestModel(num_layers, 2048);
  for (int i = 1; i <= num_layers; ++i) {
    model.layers[i].ffn_hidden_size = 2048 * (1 + i % period);
  }
  return model;
}

void Measure(const std::string& name, const Shape& shape, int num_nodes,
             double cancel_after_s) {
  const auto parallelizer = CreateBuiltinParallelizer(name).value();
  const ModelSlice slice = testing::WholeSlice(shape.model);
  IslandSpec island = testing::TestIsland(num_nodes, 8);
  island.device.memory_bytes = 80e9;
  const double began_s = SteadySeconds();
  double last_s = began_s;
  double longest_s = 0;
  double cancelled_s = 0;
  ParallelizeOptions options{.training = testing::TestTraining(1024),
                             .pipeline_microbatch_size = 64};
  options.should_stop = [&] {
    const double now_s = SteadySeconds();
    longest_s = std::max(longest_s, now_s - last_s);
    last_s = now_s;
    const bool stop = now_s - began_s > cancel_after_s;
    if (stop && cancelled_s == 0) cancelled_s = began_s + cancel_after_s;
    return stop;
  };
  const auto answer = parallelizer->Parallelize(slice, island, options);
  const double ended_s = SteadySeconds();
  longest_s = std::max(longest_s, ended_s - last_s);
  std::printf("%-10s %-16s %4d nodes: took %6.2f s, gap %6.3f s", name.c_str(),
              shape.name.c_str(), num_nodes, ended_s - began_s, longest_s);
  if (cancelled_s > 0) {
    std::printf(", after cancel %6.3f s", ended_s - cancelled_s);
  }
  std::printf("%s\n", answer.ok() ? "" : answer.status().ToString().c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  using tangram::kMaxTransformerLayers;
  const double cancel_after_s = argc > 1 ? std::atof(argv[1]) : 2;
  const std::vector<tangram::Shape> shapes = {
      {"128 equal", tangram::Periodic(126, 1)},
      {"128 different", tangram::Periodic(126, 126)},
      {"2048 equal", tangram::Periodic(2046, 1)},
      {"16384 equal", tangram::Periodic(kMaxTransformerLayers, 1)},
      {"16384 period 64", tangram::Periodic(kMaxTransformerLayers, 64)},
      {"16384 different",
       tangram::Periodic(kMaxTransformerLayers, kMaxTransformerLayers)}};
  for (const std::string& name : tangram::BuiltinParallelizerNames()) {
    for (const tangram::Shape& shape : shapes) {
      for (const int num_nodes : {8, 128}) {
        tangram::Measure(name, shape, num_nodes, cancel_after_s);
      }
    }
  }
  return 0;
}
