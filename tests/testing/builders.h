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

// Returns a device with 100 TFLOP/s in every precision, 16 GB and 1 TB/s. It
// reaches full peak at any size and has no launch cost, reserve or
// fragmentation.
DeviceSpec TestDevice(const std::string& type = "TEST");

// Returns `num_nodes` nodes of `gpus_per_node` test devices. Links have 100
// GB/s inside a node, 10 GB/s between nodes (per node and per pair), and no
// latency.
IslandSpec TestIsland(int num_nodes, int gpus_per_node);

struct TestGroup {
  std::string name;
  int num_nodes = 1;
  int gpus_per_node = 4;
  DeviceSpec device;
};

// Returns groups of identical nodes named "<group>-<i>". Links inside a group
// are those of TestIsland; links between groups have `between_bytes_per_s`.
Cluster TestCluster(const std::vector<TestGroup>& groups,
                    double between_bytes_per_s = 1e9);

// Returns an embedding, `num_layers` dense layers of the given width, and a
// head. Heads have 64 columns, the ffn 4·hidden; the vocabulary is 1,000; there
// are no biases.
ModelSpec TestModel(int num_layers, int hidden_size = 1024);

// Like TestModel, with mixture-of-experts layers: 8 experts, 2 per token.
ModelSpec TestMoeModel(int num_layers, int hidden_size = 1024);

// Returns the slice of all atoms of a model.
ModelSlice WholeSlice(const ModelSpec& model);

// Returns options with sequence length 512, fp16 and Adam.
TrainingOptions TestTraining(int global_batch_size = 32);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_BUILDERS_H_
