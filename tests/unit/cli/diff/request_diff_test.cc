#include "cli/diff/request_diff.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/unit/cli/diff/differences.h"

namespace tangram {
namespace {

using ::tangram::testing::Of;
using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

auto HasField(const char* field) { return Field(&Difference::field, field); }

TEST(DiffModelsTest, CountsLayersAndParameters) {
  EXPECT_THAT(DiffModels(TestModel(4), TestModel(4)), IsEmpty());
  EXPECT_THAT(DiffModels(TestModel(4), TestModel(5)),
              ElementsAre(Of("layers", 6, 7), HasField("parameters")));
}

TEST(DiffModelsTest, NamesTheFirstLayerThatDiffers) {
  ModelSpec other = TestModel(4);
  other.name = "other";
  other.layers[2].sliding_window = 128;  // Leaves the parameter count alone.
  EXPECT_THAT(
      DiffModels(TestModel(4), other),
      ElementsAre(Of("first_other_layer", "layer 2 of " + TestModel(4).name,
                     "that of other")));
}

TEST(DiffClustersTest, ComparesGroupsByName) {
  const Cluster a = TestCluster({{.name = "x", .num_nodes = 2}});
  // The same group in another position, beside a new group.
  const Cluster b = TestCluster({{.name = "new"}, {.name = "x"}});
  EXPECT_THAT(DiffClusters(a, a), IsEmpty());
  EXPECT_THAT(DiffClusters(a, b),
              ElementsAre(Of("groups.x.nodes", 2, 1),
                          Of("groups.new.nodes", int64_t{0}, int64_t{1})));
}

TEST(DiffClustersTest, ComparesDevicesAndLinks) {
  const Cluster a = TestCluster({{.name = "x", .device = TestDevice()},
                                 {.name = "y", .device = TestDevice()}});
  Cluster b = a;
  b.nodes[0].device.memory_bytes = 32e9;
  b.nodes[0].device.efficiency.fragmentation = 0.25;
  b.nodes[1].intra_node.latency_s = 1e-3;
  b.links[0][1].bandwidth_bytes_per_s = 2e9;  // It is 1 GB/s in `a`.
  EXPECT_THAT(DiffClusters(a, b),
              ElementsAre(Of("groups.x.memory_bytes", 16e9, 32e9),
                          HasField("groups.x.throughput_and_measurements"),
                          Of("groups.y.intra_node.latency_s", 0.0, 1e-3),
                          Of("links.x.y.bandwidth_bytes_per_s", 1e9, 2e9)));
}

TEST(DiffTrainingTest, NamesEveryOption) {
  const TrainingOptions a = TestTraining(32);
  TrainingOptions b = {.global_batch_size = 64,
                       .sequence_length = 1024,
                       .precision = Precision::kBf16,
                       .optimizer = Optimizer::kSgd,
                       .flash_attention = !a.flash_attention,
                       .dropout = !a.dropout,
                       .fp32_gradients = !a.fp32_gradients,
                       .overlap_grad_reduce = !a.overlap_grad_reduce,
                       .blocking_transfers = !a.blocking_transfers,
                       .buffered_sends = !a.buffered_sends,
                       .gradient_copy = !a.gradient_copy,
                       .bf16_moments = !a.bf16_moments,
                       .fused_loss = !a.fused_loss};
  EXPECT_THAT(
      DiffTraining(a, b),
      ElementsAre(
          Of("global_batch_size", 32, 64), Of("sequence_length", 512, 1024),
          Of("precision", "fp16", "bf16"), Of("optimizer", "adam", "sgd"),
          HasField("flash_attention"), HasField("dropout"),
          HasField("fp32_gradients"), HasField("overlap_grad_reduce"),
          HasField("blocking_transfers"), HasField("buffered_sends"),
          HasField("gradient_copy"), HasField("bf16_moments"),
          HasField("fused_loss")));
  // A new field breaks this binding: then compare the field, too.
  [[maybe_unused]] const auto& [o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11,
                                o12, o13] = a;
}

}  // namespace
}  // namespace tangram
