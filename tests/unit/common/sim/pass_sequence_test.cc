#include "common/sim/pass_sequence.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

std::vector<Pass> PassesOf(const PipelineShape& shape, int device) {
  std::vector<Pass> passes;
  for (PassSequence sequence(shape, device); !sequence.done();
       sequence.Advance()) {
    passes.push_back(sequence.next());
  }
  return passes;
}

// "F0.1": forward pass of microbatch 1 on stage 0.
std::string Text(const PipelineShape& shape, int device) {
  return absl::StrJoin(
      PassesOf(shape, device), " ", [](std::string* out, const Pass& pass) {
        absl::StrAppend(out, std::string(1, "FBW"[int(pass.kind)]), pass.stage,
                        ".", pass.microbatch);
      });
}

TEST(PassSequenceTest, GpipeRunsAllForwardPassesFirst) {
  const PipelineShape shape = {PipelineSchedule::kGpipe, 2, 1, 3};
  EXPECT_EQ(Text(shape, 0), "F0.0 F0.1 F0.2 B0.0 B0.1 B0.2");
  EXPECT_EQ(Text(shape, 1), "F1.0 F1.1 F1.2 B1.0 B1.1 B1.2");
}

TEST(PassSequenceTest, OneFOneBAlternatesAfterItsWarmUp) {
  const PipelineShape shape = {PipelineSchedule::kOneFOneB, 3, 1, 3};
  EXPECT_EQ(Text(shape, 0), "F0.0 F0.1 F0.2 B0.0 B0.1 B0.2");
  EXPECT_EQ(Text(shape, 1), "F1.0 F1.1 B1.0 F1.2 B1.1 B1.2");
  EXPECT_EQ(Text(shape, 2), "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2");
}

TEST(PassSequenceTest, TheWarmUpEndsWithTheMicrobatches) {
  const PipelineShape shape = {PipelineSchedule::kOneFOneB, 4, 1, 2};
  EXPECT_EQ(Text(shape, 0), "F0.0 F0.1 B0.0 B0.1");
}

TEST(PassSequenceTest, InterleavedGoesOverTheChunksInGroupsOfMicrobatches) {
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 2, 2, 4};
  // Warm-up of 2 · (2 − 0 − 1) + (2 − 1) · 2 = 4 passes.
  EXPECT_EQ(Text(shape, 0),
            "F0.0 F0.1 F2.0 F2.1 "
            "F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 "
            "B2.2 B2.3 B0.2 B0.3");
  // Warm-up of 0 + 2.
  EXPECT_EQ(Text(shape, 1),
            "F1.0 F1.1 "
            "F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 "
            "B1.2 B1.3");
}

TEST(PassSequenceTest, ZeroBubbleDelaysWeightGradientsByTheDevicesBefore) {
  const PipelineShape shape = {PipelineSchedule::kZeroBubbleH1, 3, 1, 4};
  EXPECT_EQ(Text(shape, 0),
            "F0.0 F0.1 F0.2 B0.0 W0.0 F0.3 B0.1 W0.1 B0.2 W0.2 B0.3 W0.3");
  EXPECT_EQ(Text(shape, 1),
            "F1.0 F1.1 B1.0 F1.2 B1.1 W1.0 F1.3 B1.2 W1.1 B1.3 W1.2 W1.3");
  EXPECT_EQ(Text(shape, 2),
            "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2 W2.0 F2.3 B2.3 W2.1 W2.2 W2.3");
}

TEST(PassSequencePropertyTest, RunsEveryPassOnceAndInItsOrder) {
  for (const PipelineSchedule schedule : kPipelineSchedules) {
    for (int p = 1; p <= 5; ++p) {
      const bool interleaved = schedule == PipelineSchedule::kInterleaved;
      const int v = interleaved ? 3 : 1;
      const PipelineShape shape = {schedule, p, v, interleaved ? 3 * p : 7};
      for (int d = 0; d < p; ++d) {
        SCOPED_TRACE(Text(shape, d));
        const std::vector<Pass> passes = PassesOf(shape, d);
        const auto position = [&](PassKind kind, int stage, int m) {
          const Pass pass = {kind, stage, m};
          EXPECT_EQ(std::count(passes.begin(), passes.end(), pass), 1);
          return std::find(passes.begin(), passes.end(), pass);
        };
        const int kinds = shape.splits_backward() ? 3 : 2;
        ASSERT_EQ(passes.size(), kinds * v * shape.num_microbatches);
        for (int s = d; s < p * v; s += p) {
          for (int m = 0; m < shape.num_microbatches; ++m) {
            const auto backward = position(PassKind::kBackward, s, m);
            EXPECT_LT(position(PassKind::kForward, s, m), backward);
            if (kinds == 3) {
              EXPECT_LT(backward, position(PassKind::kWeightGradient, s, m));
            }
          }
        }
      }
    }
  }
}

int Between(std::mt19937& generator, int low, int high) {
  return low + static_cast<int>(generator() % (high - low + 1));
}

PipelineShape RandomShape(std::mt19937& generator) {
  const auto integer = [&](int low, int high) {
    return Between(generator, low, high);
  };
  PipelineShape shape = {.schedule = kPipelineSchedules[integer(0, 3)],
                         .num_devices = integer(1, 5),
                         .num_microbatches = integer(1, 40)};
  if (shape.schedule == PipelineSchedule::kInterleaved) {
    shape.virtual_stages = integer(1, 3);
    shape.num_microbatches = shape.num_devices * integer(1, 8);
  }
  if (shape.schedule == PipelineSchedule::kOneFOneB && integer(0, 1) == 0) {
    shape.warm_up_passes.assign(shape.num_devices, integer(1, 12));
  }
  return shape;
}

TEST(PassSequencePropertyTest, RepeatsOnlyWhatComesAgain) {
  std::mt19937 generator(21);
  int64_t repeated = 0;
  for (int i = 0; i < 3000; ++i) {
    const PipelineShape shape = RandomShape(generator);
    PassSequence earlier(shape, Between(generator, 0, shape.num_devices - 1));
    for (int k = Between(generator, 0, 29); k > 0 && !earlier.done(); --k) {
      earlier.Advance();
    }
    PassSequence now = earlier;
    const int64_t length = Between(generator, 1, 4 * shape.num_stages());
    for (int64_t k = 0; k < length && !now.done(); ++k) now.Advance();
    if (now.done()) continue;
    const int64_t repeats = now.MaxRepeats(earlier);
    if (repeats == 0) continue;
    repeated += repeats;
    PassSequence played = now;
    for (int64_t k = 0; k < repeats * length; ++k) played.Advance();
    now.Repeat(earlier, repeats);
    for (; !played.done(); played.Advance(), now.Advance()) {
      ASSERT_FALSE(now.done());
      ASSERT_EQ(now.next(), played.next()) << i;
    }
    ASSERT_TRUE(now.done());
  }
  EXPECT_GT(repeated, 1000);
}

TEST(PassSequenceTest, TheWarmUpRepeatsOnlyToItsEnd) {
  const PipelineShape shape = {
      .num_devices = 1, .num_microbatches = 100, .warm_up_passes = {40}};
  PassSequence earlier(shape, 0);
  PassSequence now = earlier;
  now.Advance();
  EXPECT_EQ(now.MaxRepeats(earlier), 38);
  EXPECT_EQ(now.MaxRepeats(now), PassSequence::kForever);
}

}  // namespace
}  // namespace tangram
