#ifndef TANGRAM_TESTS_TESTING_BUILDERS_H_
#define TANGRAM_TESTS_TESTING_BUILDERS_H_

#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/model_slice.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

// Small, fully specified inputs with round numbers, so that tests can state
// expected values by hand.
namespace tangram::testing {

// 100 TFLOP/s in every precision, 16 GB, 1 TB/s; efficiency: full peak at any
// size, no launch cost, no reserve, no fragmentation.
DeviceSpec TestDevice(const std::string& type = "TEST");

// `num_nodes` nodes of `gpus_per_node` test devices; 100 GB/s inside a node,
// 10 GB/s (node and pair alike) between nodes, no latency.
IslandSpec TestIsland(int num_nodes, int gpus_per_node);

struct TestGroup {
  std::string name;
  int num_nodes = 1;
  int gpus_per_node = 4;
  DeviceSpec device;
};

// Groups of identical nodes named "<group>-<i>"; links as in TestIsland inside
// a group, `between_bytes_per_s` between groups.
Cluster TestCluster(const std::vector<TestGroup>& groups,
                    double between_bytes_per_s = 1e9);

// Embedding, `num_layers` dense layers of the given width (heads of 64, ffn
// 4·hidden, vocabulary 1,000, no biases), head.
ModelSpec TestModel(int num_layers, int hidden_size = 1024);

// The same with mixture-of-experts layers: 8 experts, 2 per token.
ModelSpec TestMoeModel(int num_layers, int hidden_size = 1024);

// All of its atoms.
ModelSlice WholeSlice(const ModelSpec& model);

// Batch 32, sequence 512, fp16, Adam.
TrainingOptions TestTraining(int global_batch_size = 32);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_BUILDERS_H_
