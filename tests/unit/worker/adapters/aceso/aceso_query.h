#ifndef TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ACESO_ACESO_QUERY_H_
#define TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ACESO_ACESO_QUERY_H_

#include <random>
#include <vector>

#include "common/parallelizer/parallelizer.h"
#include "tests/testing/builders.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Layers [begin, end) of a model.
inline ModelSlice SliceOf(const ModelSpec& model, int begin, int end) {
  return MakeSlice({begin, end},
                   absl::MakeSpan(model.layers).subspan(begin, end - begin));
}

// `num_layers` transformer layers of the test model: 10 operators each.
inline ModelSlice BodySlice(int num_layers, int hidden_size = 1024) {
  return SliceOf(testing::TestModel(num_layers, hidden_size), 1,
                 num_layers + 1);
}

inline ParallelizeOptions Options(int microbatch_size, int trailing_stages = 0,
                                  int global_batch_size = 32) {
  return {.training = testing::TestTraining(global_batch_size),
          .pipeline_microbatch_size = microbatch_size,
          .trailing_stages = trailing_stages};
}

// A query and all objects that a search of it refers to.
struct Query {
  Query(ModelSlice asked_slice, const IslandSpec& asked_island,
        ParallelizeOptions asked_options)
      : slice(std::move(asked_slice)),
        island(asked_island),
        options(std::move(asked_options)) {}

  ModelSlice slice;
  IslandSpec island;
  ParallelizeOptions options;
  SliceLayout layout{slice};
  DegreeSpace space{layout, island, options.pipeline_microbatch_size};
  CostTables tables{layout, space, island, options};

  // Returns the index of a choice, which must exist.
  int DegreesOf(int tp_degree, int dp_degree) const {
    const Degrees wanted = {.tp_degree = tp_degree, .dp_degree = dp_degree};
    int degrees = 0;
    while (space.at(degrees) != wanted) ++degrees;
    return degrees;
  }

  // Returns a complete configuration of stages that end at `ends`.
  Configuration Configure(const std::vector<int>& ends,
                          const std::vector<int>& degrees) {
    Configuration result = {.trailing_stages = options.trailing_stages};
    int begin = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      result.stages.push_back(
          {.shape = {.begin = begin, .end = ends[i], .degrees = degrees[i]}});
      begin = ends[i];
    }
    Complete(tables, result);
    return result;
  }
};

// Returns a small random query. Some have an embedding or head, some of these
// tied, some lack memory.
inline Query RandomQuery(uint32_t seed, int max_layers, int max_gpus) {
  std::mt19937 rng(seed);
  const auto draw = [&rng](int low, int high) {
    return low +
           static_cast<int>(rng() % static_cast<uint32_t>(high - low + 1));
  };
  const int num_layers = draw(1, max_layers);
  ModelSpec model = testing::TestModel(num_layers, 1024 * draw(1, 3));
  model.layers.front().tied_embeddings = seed % 2 == 1;
  model.layers.back().tied_embeddings = seed % 2 == 1;
  // Nodes have 1, 2, 4, ... GPUs each.
  int max_doublings = 0;
  while (2 << max_doublings <= max_gpus) ++max_doublings;
  const int gpus_per_node = 1 << draw(0, max_doublings);
  const int num_nodes = draw(1, max_gpus / gpus_per_node);
  const int gpus = num_nodes * gpus_per_node;
  IslandSpec island = testing::TestIsland(num_nodes, gpus_per_node);
  island.device.supports_flash_attention = draw(0, 1) == 0;
  island.device.efficiency.fragmentation = 0.1 * draw(0, 1);
  island.device.efficiency.reserved_bytes = 1e8 * draw(0, 1);
  ParallelizeOptions options = Options(1 << draw(0, 4), draw(0, 4));
  const ModelSlice slice =
      SliceOf(model, draw(0, 1), num_layers + 2 - draw(0, 1));
  if (draw(0, 2) > 0) {
    // About 16 bytes for each parameter, and activations of some microbatches.
    const double state_bytes = 16 * ParameterCount(model) / gpus;
    island.device.memory_bytes =
        state_bytes * (0.8 + 0.1 * draw(0, 8)) +
        1e7 * options.pipeline_microbatch_size * draw(0, 50) / gpus;
  }
  return Query(slice, island, std::move(options));
}

}  // namespace tangram::aceso

#endif  // TANGRAM_TESTS_UNIT_WORKER_ADAPTERS_ACESO_ACESO_QUERY_H_
