#include "common/domain/training_options.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(FingerprintOfTrainingTest, ChangesWithEveryField) {
  const std::vector<TrainingOptions> all = {{},
                                            {.global_batch_size = 1},
                                            {.sequence_length = 1},
                                            {.precision = Precision::kBf16},
                                            {.optimizer = Optimizer::kSgd},
                                            {.flash_attention = false},
                                            {.dropout = false},
                                            {.fp32_gradients = true},
                                            {.overlap_grad_reduce = true},
                                            {.blocking_transfers = true},
                                            {.buffered_sends = true},
                                            {.gradient_copy = true},
                                            {.bf16_moments = true},
                                            {.fused_loss = true}};
  // Stops compiling when a field is added. Add the field above as well.
  const auto& [batch, sequence, precision, optimizer, flash, dropout, fp32,
               overlap, blocking, buffered, gradient_copy, moments,
               fused_loss] = all[0];
  (void)batch;

  std::set<Fingerprint> fingerprints;
  for (const TrainingOptions& options : all) {
    fingerprints.insert(FingerprintOf(options));
  }
  EXPECT_EQ(fingerprints.size(), all.size());
}

TEST(ElementBytesTest, IsTwoForAllButFullPrecision) {
  EXPECT_EQ(ElementBytes(Precision::kFp32), 4);
  EXPECT_EQ(ElementBytes(Precision::kFp16), 2);
  EXPECT_EQ(ElementBytes(Precision::kBf16), 2);
  EXPECT_EQ(ElementBytes(Precision::kFp8), 2);
}

}  // namespace
}  // namespace tangram
