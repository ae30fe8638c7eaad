#include <set>

#include "common/cost/operator_cost.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;

TEST(MeasurementKeyTest, DiffersWhereTheKernelDiffers) {
  const LayerSpec layer = TestModel(1).layers[1];
  const TrainingOptions training = TestTraining();
  TrainingOptions longer = training;
  longer.sequence_length = 1024;
  TrainingOptions fp32 = training;
  fp32.precision = Precision::kFp32;
  constexpr OpKind kOp = OpKind::kMlpUp;
  const std::set<Fingerprint> keys = {
      MeasurementKey(layer, kOp, {}, 1, training),
      MeasurementKey(TestModel(1, 512).layers[1], kOp, {}, 1, training),
      MeasurementKey(layer, OpKind::kMlpDown, {}, 1, training),
      MeasurementKey(layer, kOp, {.tp_degree = 2}, 1, training),
      MeasurementKey(layer, kOp, {.tp_degree = 2, .tp_y_degree = 2}, 1,
                     training),
      MeasurementKey(layer, kOp, {.cp_degree = 2}, 1, training),
      MeasurementKey(layer, kOp, {}, 2, training),
      MeasurementKey(layer, kOp, {}, 1, longer),
      MeasurementKey(layer, kOp, {}, 1, fp32)};
  EXPECT_EQ(keys.size(), 9u);
}

TEST(MeasurementKeyTest, IgnoresWhatDoesNotChangeTheKernel) {
  const LayerSpec layer = TestModel(1).layers[1];
  const TrainingOptions training = TestTraining();
  TrainingOptions other = training;
  other.global_batch_size = 64;
  other.optimizer = Optimizer::kSgd;
  other.flash_attention = false;
  EXPECT_EQ(MeasurementKey(layer, OpKind::kMlpUp, {}, 1, training),
            MeasurementKey(layer, OpKind::kMlpUp,
                           {.dp_degree = 4,
                            .ep_degree = 2,
                            .zero_stage = 3,
                            .sequence_parallel = true},
                           1, other));
}

TEST(MeasurementKeyTest, AddsWhatOnlySomeOperatorsSee) {
  const LayerSpec layer = TestMoeModel(1).layers[1];
  const TrainingOptions training = TestTraining();
  TrainingOptions unfused = training;
  unfused.flash_attention = false;
  EXPECT_NE(MeasurementKey(layer, OpKind::kAttentionCore, {}, 1, training),
            MeasurementKey(layer, OpKind::kAttentionCore, {}, 1, unfused));
  EXPECT_NE(
      MeasurementKey(layer, OpKind::kExpertUp, {}, 1, training),
      MeasurementKey(layer, OpKind::kExpertUp, {.ep_degree = 2}, 1, training));
  EXPECT_NE(MeasurementKey(layer, OpKind::kMlpNorm, {}, 1, training),
            MeasurementKey(layer, OpKind::kMlpNorm, {.sequence_parallel = true},
                           1, training));
}

}  // namespace
}  // namespace tangram
