#include "coordinator/bounds/any_plan_bound.h"

#include <vector>

#include "common/sim/evaluate_plan.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::StageOn;
using testing::TestCluster;
using testing::TestDevice;
using testing::TestModel;
using testing::TestTraining;

// Returns a device with launches, small products that are slow, and penalties.
DeviceSpec RealDevice() {
  DeviceSpec device = TestDevice();
  device.efficiency.gemm_max_fraction = 0.6;
  device.efficiency.gemm_half_flops = 1e9;
  device.efficiency.kernel_launch_s = 5e-6;
  device.efficiency.host_launch_s = 1e-6;
  return device;
}

double SecondsOnOneGpu(const ModelSpec& model, const Cluster& cluster,
                       const TrainingOptions& training, int microbatch) {
  PipelinePlan plan{.pipeline_microbatch_size = microbatch};
  plan.stages = {StageOn(0, model.num_layers(), {}, NodeGpus(0, 1))};
  return EvaluatePlan(model, cluster, training, plan)->iteration_time_s;
}

TEST(AnyPlanBoundTest, IsTightForOneStageOnOneGpu) {
  const ModelSpec model = TestModel(4);
  const Cluster cluster =
      TestCluster({{.name = "a", .gpus_per_node = 1, .device = RealDevice()}});
  const TrainingOptions training = TestTraining(16);
  const double bound_s = AnyPlanSeconds(model, cluster, {}, training);
  // One microbatch is as efficient as can be: only the optimizer's launch is
  // left out.
  const double whole_s = SecondsOnOneGpu(model, cluster, training, 16);
  EXPECT_LE(bound_s, whole_s);
  EXPECT_GT(bound_s, 0.999 * whole_s);
  EXPECT_GT(bound_s, 0.9 * SecondsOnOneGpu(model, cluster, training, 4));
}

TEST(AnyPlanBoundTest, FallsWithTheNumberOfGpusThatAreLeft) {
  const ModelSpec model = TestModel(4);
  const Cluster cluster = TestCluster({{.name = "a",
                                        .num_nodes = 4,
                                        .gpus_per_node = 2,
                                        .device = RealDevice()}});
  const TrainingOptions training = TestTraining(16);
  const double all_s = AnyPlanSeconds(model, cluster, {}, training);
  const std::vector<int> left_out = {0, 3};
  EXPECT_DOUBLE_EQ(AnyPlanSeconds(model, cluster, left_out, training),
                   2 * all_s);
  const std::vector<int> nearly_all = {0, 1, 2, 3};
  EXPECT_EQ(AnyPlanSeconds(model, cluster, nearly_all, training), 0);
}

TEST(AnyPlanBoundTest, UnlikeDevicesTakeTheOperatorsThatSuitThem) {
  const ModelSpec model = TestModel(4);
  const TrainingOptions training = TestTraining(16);
  DeviceSpec slow = RealDevice();
  slow.type = "SLOW";
  slow.peak_flops.fp16 /= 4;
  slow.memory_bandwidth_bytes_per_s /= 2;
  const auto seconds = [&](const std::vector<testing::TestGroup>& groups) {
    return AnyPlanSeconds(model, TestCluster(groups), {}, training);
  };
  const testing::TestGroup fast_node = {.name = "a", .device = RealDevice()};
  const testing::TestGroup slow_node = {.name = "b", .device = slow};
  const double fast_s = seconds({fast_node});
  const double slow_s = seconds({slow_node});
  const double both_s = seconds({fast_node, slow_node});
  // The speeds add up, and a little more, as products suit the fast ones.
  EXPECT_LT(both_s, 1 / (1 / fast_s + 1 / slow_s));
  EXPECT_GT(both_s, 0.95 / (1 / fast_s + 1 / slow_s));
}

// A stage of both kinds of GPUs has no flash attention. Here that is faster.
TEST(AnyPlanBoundTest, AStageOfUnlikeGpusLosesWhatOneOfThemLacks) {
  const ModelSpec model = TestModel(1);
  TrainingOptions training = TestTraining(2);
  training.sequence_length = 32;
  training.dropout = false;
  DeviceSpec flash = TestDevice("FLASH");
  flash.efficiency.attention_fraction = 0.01;
  DeviceSpec plain = flash;
  plain.type = "PLAIN";
  plain.supports_flash_attention = !flash.supports_flash_attention;
  const Cluster cluster =
      TestCluster({{.name = "a", .gpus_per_node = 1, .device = flash},
                   {.name = "b", .gpus_per_node = 1, .device = plain}});
  PipelinePlan plan{.pipeline_microbatch_size = 2};
  plan.stages = {
      StageOn(0, model.num_layers(), {.dp_degree = 2}, {{0, 0}, {1, 0}})};
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluatePlan(model, cluster, training, plan));
  EXPECT_LE(AnyPlanSeconds(model, cluster, {}, training),
            evaluation.iteration_time_s);
}

TEST(AnyPlanBoundTest, HostsThatIssueKernelsSlowlyBoundTheIteration) {
  const ModelSpec model = TestModel(2);
  DeviceSpec device = TestDevice();
  device.efficiency.host_launch_s = 1;
  const Cluster cluster = TestCluster({{.name = "a", .device = device}});
  // 8 kernels of the embedding; 4 · 4 of products, 2 · 6 of the others and 3 or
  // 8 of attention in each layer; 2 and 24 of the head. Forward, and half of
  // the backward pass.
  const double attention = device.supports_flash_attention ? 3 : 8;
  const double kernels = 8 + 2 * (4 * 4 + 2 * 6 - 2 + attention) + 2 + 24;
  EXPECT_NEAR(AnyPlanSeconds(model, cluster, {}, TestTraining(8)),
              1.5 * kernels, 1.5 * 4);
}

TEST(AnyPlanBoundTest, MeasuredDevicesProveNothing) {
  DeviceSpec device = RealDevice();
  device.measured = {{.key = 1, .forward_s = 1e-9, .backward_s = 1e-9}};
  const Cluster cluster = TestCluster({{.name = "a", .device = device}});
  EXPECT_EQ(AnyPlanSeconds(TestModel(4), cluster, {}, TestTraining(16)), 0);
}

}  // namespace
}  // namespace tangram
