#include "common/sim/steady_pipeline.h"

#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

// Pipelines of different, nearly equal and equal stages, with all kinds of
// transfers.
class RandomLongPipelines {
 public:
  PipelineShape NextShape(PipelineSchedule schedule, int max_microbatches) {
    PipelineShape shape = {.schedule = schedule, .num_devices = Integer(1, 9)};
    shape.num_microbatches = Integer(1, max_microbatches);
    if (schedule == PipelineSchedule::kInterleaved) {
      shape.virtual_stages = Integer(1, 3);
      shape.num_microbatches =
          (1 + shape.num_microbatches / shape.num_devices) * shape.num_devices;
    }
    return shape;
  }

  std::vector<StageTimes> NextStages(const PipelineShape& shape) {
    std::vector<StageTimes> stages(shape.num_stages());
    const bool may_block = shape.schedule == PipelineSchedule::kGpipe ||
                           shape.schedule == PipelineSchedule::kOneFOneB;
    const bool blocks = may_block && Integer(0, 1) == 0;
    const bool buffered = Integer(0, 1) == 0;
    // Differences between stages: from none to a difference in every digit.
    const double spread = Integer(0, 3) == 0 ? 0 : std::pow(10, -Integer(0, 6));
    for (StageTimes& stage : stages) {
      const auto about = [&](double s) {
        return s * (1 + spread * Real(0, 2));
      };
      stage.forward_s = about(0.3);
      stage.backward_s = about(0.7);
      stage.weight_gradient_s = stage.backward_s * Real(0, 0.6);
      stage.send_blocks = blocks;
      stage.send_is_buffered = buffered;
      stage.sync_s = Real(0, 3);
      stage.optimizer_s = Real(0, 1);
      if (shape.num_devices == 1 || &stage == &stages.back()) continue;
      stage.send_forward_s = about(Integer(0, 3) * 0.2);
      stage.send_backward_s = about(Integer(0, 3) * 0.2);
    }
    return stages;
  }

 private:
  int Integer(int low, int high) {
    return low + static_cast<int>(generator_() % (high - low + 1));
  }
  double Real(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_()) /
                     static_cast<double>(std::mt19937::max());
  }

  std::mt19937 generator_{13};
};

class SteadyPipelinePropertyTest
    : public ::testing::TestWithParam<PipelineSchedule> {};

TEST_P(SteadyPipelinePropertyTest, EqualsEveryPassPlayed) {
  RandomLongPipelines pipelines;
  for (int i = 0; i < 1000; ++i) {
    const PipelineShape shape = pipelines.NextShape(GetParam(), 600);
    SCOPED_TRACE(absl::StrFormat("%d: p %d, v %d, B %d", i, shape.num_devices,
                                 shape.virtual_stages, shape.num_microbatches));
    const std::vector<StageTimes> stages = pipelines.NextStages(shape);
    const PipelineRun played = PlayPipeline(shape, stages);
    const PipelineRun steady = PlaySteadyPipeline(shape, stages);
    ASSERT_NEAR(steady.iteration_time_s / played.iteration_time_s, 1, 1e-9);
    ASSERT_EQ(steady.busy_s, played.busy_s);
  }
}

TEST_P(SteadyPipelinePropertyTest, PlaysFewOfTheMicrobatches) {
  RandomLongPipelines pipelines;
  for (int i = 0; i < 300; ++i) {
    PipelineShape shape = pipelines.NextShape(GetParam(), 600);
    shape.num_microbatches = (1 << 24) / shape.num_devices * shape.num_devices;
    SCOPED_TRACE(absl::StrFormat("%d: p %d, v %d", i, shape.num_devices,
                                 shape.virtual_stages));
    int64_t rounds = 0;
    PlaySteadyPipeline(shape, pipelines.NextStages(shape), &rounds);
    ASSERT_LE(rounds, 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, SteadyPipelinePropertyTest,
                         ::testing::ValuesIn(kPipelineSchedules),
                         [](const auto& test) {
                           switch (test.param) {
                             case PipelineSchedule::kGpipe:
                               return "Gpipe";
                             case PipelineSchedule::kOneFOneB:
                               return "OneFOneB";
                             case PipelineSchedule::kInterleaved:
                               return "Interleaved";
                             case PipelineSchedule::kZeroBubbleH1:
                               return "ZeroBubbleH1";
                           }
                           return "";
                         });

TEST(SteadyPipelineTest, TwoToThe24MicrobatchesFillAndDrainOnce) {
  // (B + p − 1)(F + B), exactly.
  const int b = 1 << 24;
  const std::vector<StageTimes> stages(4, {.forward_s = 1, .backward_s = 2});
  for (const PipelineSchedule schedule :
       {PipelineSchedule::kGpipe, PipelineSchedule::kOneFOneB}) {
    EXPECT_EQ(PlaySteadyPipeline({schedule, 4, 1, b}, stages).iteration_time_s,
              (b + 3.0) * 3);
  }
}

TEST(SteadyPipelineTest, TheSlowestStageSetsThePaceHoweverLateItIsFelt) {
  // Stage 0 takes 2 + 1e-7, stage 1 takes 2. Rings over the transfer set the
  // pace of the first microbatches. The speeds differ so little that more than
  // a million microbatches pass before stage 0 sets the pace everywhere.
  std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 1});
  stages[0].forward_s += 1e-7;
  const int b = 1 << 28;
  // Stage 0 pauses only for the first and the last pass of stage 1: B t_0 +
  // t_1.
  EXPECT_NEAR(PlaySteadyPipeline({PipelineSchedule::kOneFOneB, 2, 1, b}, stages)
                      .iteration_time_s /
                  (b * (2 + 1e-7) + 2),
              1, 1e-12);
}

TEST(SteadyPipelineTest, AStageThatTakesNoTimeIsPlayed) {
  const std::vector<StageTimes> stages(3);
  EXPECT_EQ(
      PlaySteadyPipeline({PipelineSchedule::kOneFOneB, 3, 1, 1 << 20}, stages)
          .iteration_time_s,
      0);
}

TEST(SteadyPipelineTest, AnInfiniteDurationMakesTheIterationInfinite) {
  std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 1});
  stages[1].send_forward_s = HUGE_VAL;
  EXPECT_EQ(
      PlaySteadyPipeline({PipelineSchedule::kOneFOneB, 2, 1, 1 << 20}, stages)
          .iteration_time_s,
      HUGE_VAL);
}

TEST(SteadyPipelineTest, EqualWarmUpsEndWhereThePlanSays) {
  // In the warm-up, all devices run the same passes in each round. Played to
  // the end, since the limit of PlayPipeline is not passed.
  const std::vector<StageTimes> stages(
      3, {.forward_s = 1, .backward_s = 2, .send_forward_s = 0.25});
  for (const int warm_up : {1, 2, 7, 500, 4999, 5000, 9000}) {
    const PipelineShape shape = {.num_devices = 3,
                                 .num_microbatches = 5000,
                                 .warm_up_passes = {warm_up, warm_up, warm_up}};
    const PipelineRun played = PlayPipeline(shape, stages);
    const PipelineRun steady = PlaySteadyPipeline(shape, stages);
    EXPECT_NEAR(steady.iteration_time_s / played.iteration_time_s, 1, 1e-9)
        << warm_up;
  }
}

TEST(SteadyPipelineTest, APeriodAsLongAsADeepPipelineIsFound) {
  // The ring of all stages and transfers sets the pace: it takes p t + (p - 1)
  // s for p microbatches.
  const int p = 300;
  std::vector<StageTimes> stages(p, {.forward_s = 1, .backward_s = 2});
  for (int s = 0; s + 1 < p; ++s) {
    stages[s].send_forward_s = stages[s].send_backward_s = 0.125;
  }
  const int b = 1 << 22;
  int64_t rounds = 0;
  const PipelineRun run = PlaySteadyPipeline(
      {PipelineSchedule::kOneFOneB, p, 1, b}, stages, &rounds);
  EXPECT_LT(rounds, b / 8);
  EXPECT_NEAR(run.iteration_time_s / b, 3 + 0.25 * (p - 1) / p, 1e-3);
}

TEST(SteadyPipelineTest, StopsWhenPolled) {
  // A round of this pipeline is too long to be recorded.
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 512, 2, 1 << 20};
  const std::vector<StageTimes> stages(shape.num_stages(),
                                       {.forward_s = 1, .backward_s = 2});
  int polls = 0;
  StopPoll poll([&] { return ++polls == 5; });
  int64_t rounds = 0;
  PlaySteadyPipeline(shape, stages, poll, &rounds);
  EXPECT_EQ(polls, 5);
  EXPECT_LE(rounds, 2);
}

}  // namespace
}  // namespace tangram
