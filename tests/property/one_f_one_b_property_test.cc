#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/one_f_one_b.h"

namespace tangram {
namespace {

using testing::ClosedFormIterationSeconds;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::RunOneFOneB;
using Kind = TimelineEvent::Kind;

double Seconds(const std::vector<StageTimes>& stages, int num_microbatches) {
  return RunOneFOneB(stages, num_microbatches).iteration_time_s;
}

std::vector<TimelineEvent> EventsOf(const std::vector<TimelineEvent>& timeline,
                                    int stage) {
  std::vector<TimelineEvent> events;
  for (const TimelineEvent& event : timeline) {
    if (event.stage == stage) events.push_back(event);
  }
  return events;
}

MATCHER_P4(EventIs, kind, microbatch, start_s, end_s, "") {
  *result_listener << "kind " << static_cast<int>(arg.kind) << " microbatch "
                   << arg.microbatch << " [" << arg.start_s << ", " << arg.end_s
                   << ")";
  return arg.kind == kind && arg.microbatch == microbatch &&
         arg.start_s == start_s && arg.end_s == end_s;
}

TEST(RunOneFOneBTest, OneStageRunsAllPassesInTurn) {
  // 3 · (1 + 2).
  EXPECT_EQ(Seconds({{.forward_s = 1, .backward_s = 2}}, 3), 9);
}

TEST(RunOneFOneBTest, EqualStagesFollowTheTextbookSchedule) {
  const std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 2});
  std::vector<TimelineEvent> timeline;
  const PipelineRun run = RunOneFOneB(stages, 2, &timeline);

  // (p + B − 1)(f + b) = (2 + 2 − 1)(1 + 2).
  EXPECT_EQ(run.iteration_time_s, 9);
  EXPECT_THAT(run.busy_s, ElementsAre(6, 6));  // B(f + b).
  EXPECT_THAT(EventsOf(timeline, 0),
              ElementsAre(EventIs(Kind::kForward, 0, 0, 1),
                          EventIs(Kind::kForward, 1, 1, 2),
                          EventIs(Kind::kBackward, 0, 4, 6),
                          EventIs(Kind::kBackward, 1, 7, 9)));
  EXPECT_THAT(EventsOf(timeline, 1),
              ElementsAre(EventIs(Kind::kForward, 0, 1, 2),
                          EventIs(Kind::kBackward, 0, 2, 4),
                          EventIs(Kind::kForward, 1, 4, 5),
                          EventIs(Kind::kBackward, 1, 5, 7)));
}

TEST(RunOneFOneBTest, UnevenStagesGoAtTheSlowestOnesPace) {
  // Stage 1: F0 1–3, B0 3–7, F1 7–9, B1 9–13; stage 0: B1 13–14.
  EXPECT_EQ(Seconds({{.forward_s = 1, .backward_s = 1},
                     {.forward_s = 2, .backward_s = 4}},
                    2),
            14);
}

TEST(RunOneFOneBTest, WarmUpIsLimitedByTheMicrobatches) {
  // One microbatch passes through all three stages and back: 3 · (1 + 2).
  const std::vector<StageTimes> stages(3, {.forward_s = 1, .backward_s = 2});
  EXPECT_EQ(Seconds(stages, 1), 9);
}

TEST(RunOneFOneBTest, ReceiverWaitsForTransfersBothWays) {
  // F 0–1, sent 1.5, F 1.5–2.5, B 2.5–4.5, sent 4.75, B 4.75–6.75.
  EXPECT_EQ(Seconds({{.forward_s = 1,
                      .backward_s = 2,
                      .send_forward_s = 0.5,
                      .send_backward_s = 0.25},
                     {.forward_s = 1, .backward_s = 2}},
                    1),
            6.75);
}

TEST(RunOneFOneBTest, TransfersShareALinkOneAfterTheOther) {
  const std::vector<StageTimes> stages = {
      {.forward_s = 1, .backward_s = 1, .send_forward_s = 3},
      {.forward_s = 1, .backward_s = 1}};
  std::vector<TimelineEvent> timeline;
  const PipelineRun run = RunOneFOneB(stages, 2, &timeline);

  // Stage 0 ends F1 at 2, but the link carries F0 until 4. Stage 1: F0 4–5,
  // B0 5–6, F1 7–8, B1 8–9; stage 0: B0 6–7, B1 9–10.
  EXPECT_EQ(run.iteration_time_s, 10);
  EXPECT_THAT(EventsOf(timeline, 0),
              ElementsAre(EventIs(Kind::kForward, 0, 0, 1),
                          EventIs(Kind::kSendForward, 0, 1, 4),
                          EventIs(Kind::kForward, 1, 1, 2),
                          EventIs(Kind::kSendForward, 1, 4, 7),
                          EventIs(Kind::kBackward, 0, 6, 7),
                          EventIs(Kind::kBackward, 1, 9, 10)));
}

TEST(RunOneFOneBTest, DirectionsOfALinkDoNotDisturbEachOther) {
  std::vector<TimelineEvent> timeline;
  RunOneFOneB({{{.forward_s = 1,
                 .backward_s = 1,
                 .send_forward_s = 4,
                 .send_backward_s = 4},
                {.forward_s = 1, .backward_s = 1}}},
              2, &timeline);

  // Activations travel 1–5 and 5–9. Stage 1 has F0 5–6 and B0 6–7, and its
  // gradients leave at once.
  EXPECT_THAT(EventsOf(timeline, 1),
              ::testing::Contains(EventIs(Kind::kSendBackward, 0, 7, 11)));
}

TEST(RunOneFOneBTest, SynchronisationHidesBehindTheCoolDownOfEarlierStages) {
  // Stage 1 ends B0 at 1 + 1 + 2 = 4, stage 0 at 6.
  const StageTimes first = {.forward_s = 1, .backward_s = 2};
  const StageTimes hidden = {
      .forward_s = 1, .backward_s = 2, .sync_s = 1.5, .optimizer_s = 0.5};
  const StageTimes exposed = {
      .forward_s = 1, .backward_s = 2, .sync_s = 2.5, .optimizer_s = 0.5};
  EXPECT_EQ(Seconds({first, hidden}, 1), 6);
  EXPECT_EQ(Seconds({first, exposed}, 1), 7);  // 4 + 2.5 + 0.5.
}

TEST(RunOneFOneBTest, TimelineEndsWithSynchronisationAndOptimizer) {
  // Existing events are dropped.
  std::vector<TimelineEvent> timeline = {{.stage = 7}};
  RunOneFOneB(
      {{{.forward_s = 1, .backward_s = 2, .sync_s = 3, .optimizer_s = 4}}}, 1,
      &timeline);
  EXPECT_THAT(timeline, ElementsAre(EventIs(Kind::kForward, 0, 0, 1),
                                    EventIs(Kind::kBackward, 0, 1, 3),
                                    EventIs(Kind::kGradientSync, -1, 3, 6),
                                    EventIs(Kind::kOptimizer, -1, 6, 10)));
}

TEST(ClosedFormTest, AddsUpStagesSlowestAndExposedSynchronisation) {
  // t = {1 + 2 + 0.5 + 0.5, 2 + 4} = {4, 6}; 4 + 6 + 3 · 6 = 28. Exposed:
  // stage 0: 1, stage 1: 5 − 2 = 3.
  EXPECT_EQ(
      ClosedFormIterationSeconds(
          {{{.forward_s = 1,
             .backward_s = 2,
             .send_forward_s = 0.5,
             .send_backward_s = 0.5,
             .sync_s = 1},
            {.forward_s = 2, .backward_s = 4, .sync_s = 4, .optimizer_s = 1}}},
          4),
      31);
}

TEST(ClosedFormTest, MissesAWarmUpThatWaitsWithABackwardPassReady) {
  // Stage 1 could begin B0 at 1. But its warm-up runs F1 first, whose input
  // arrives at 2: B0 2–3, B1 3–4. The closed form gives 1 + 1 + 0 + 1.
  const std::vector<StageTimes> stages = {
      {.forward_s = 1}, {.backward_s = 1}, {}};
  EXPECT_EQ(Seconds(stages, 2), 4);
  EXPECT_EQ(ClosedFormIterationSeconds(stages, 2), 3);
}

// Parameters of random pipelines.
struct Shape {
  double min_ratio = 2;  // Ratio of backward to forward.
  double max_ratio = 2;
  double max_send_s = 0;
  double max_sync_s = 0;
};

class RandomPipelines {
 public:
  explicit RandomPipelines(const Shape& shape) : shape_(shape) {}

  std::pair<std::vector<StageTimes>, int> Next() {
    std::vector<StageTimes> stages(Integer(1, 12));
    for (StageTimes& stage : stages) {
      stage.forward_s = Real(0.1, 1);
      stage.backward_s =
          stage.forward_s * Real(shape_.min_ratio, shape_.max_ratio);
      stage.send_forward_s = Real(0, shape_.max_send_s);
      stage.send_backward_s = Real(0, shape_.max_send_s);
      stage.sync_s = Real(0, shape_.max_sync_s);
    }
    stages.back().send_forward_s = stages.back().send_backward_s = 0;
    return {stages, Integer(1, 40)};
  }

 private:
  int Integer(int low, int high) {
    return low + static_cast<int>(generator_() % (high - low + 1));
  }
  // std::uniform_real_distribution differs between libraries.
  double Real(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_()) /
                     static_cast<double>(std::mt19937::max());
  }

  const Shape shape_;
  std::mt19937 generator_{1};
};

constexpr int kPipelines = 2000;
constexpr double kRounding = 1e-9;

// Simulates the schedule from its definition. Orders are fixed, and every stage
// runs until it waits for an input, until all are done.
double NaiveSeconds(const std::vector<StageTimes>& stages, int b) {
  const int p = static_cast<int>(stages.size());
  const double kNever = -1;
  std::vector<std::vector<double>> activation(p,
                                              std::vector<double>(b, kNever));
  std::vector<std::vector<double>> gradient = activation;
  activation[0].assign(b, 0);
  gradient[p - 1].assign(b, 0);
  std::vector<double> free(p), forward_link(p), backward_link(p);
  std::vector<int> forwards(p), backwards(p);
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < p; ++s) {
      const bool forward =
          forwards[s] < std::min(b, backwards[s] + std::min(p - s, b));
      if (!forward && backwards[s] == b) continue;
      const int m = forward ? forwards[s] : backwards[s];
      const double ready = forward ? activation[s][m] : gradient[s][m];
      if (ready == kNever) continue;
      progress = true;
      (forward ? forwards : backwards)[s]++;
      free[s] = std::max(free[s], ready) +
                (forward ? stages[s].forward_s : stages[s].backward_s);
      if (forward && s + 1 < p) {
        forward_link[s] =
            std::max(forward_link[s], free[s]) + stages[s].send_forward_s;
        activation[s + 1][m] = forward_link[s];
      } else if (!forward && s > 0) {
        backward_link[s] =
            std::max(backward_link[s], free[s]) + stages[s - 1].send_backward_s;
        gradient[s - 1][m] = backward_link[s];
      }
    }
  }
  double end = 0;
  for (int s = 0; s < p; ++s) {
    end = std::max(end, free[s] + stages[s].sync_s + stages[s].optimizer_s);
  }
  return end;
}

TEST(RunOneFOneBPropertyTest, EqualsTheDefinitionPlayedNaively) {
  RandomPipelines pipelines(
      {.min_ratio = 0, .max_ratio = 4, .max_send_s = 1, .max_sync_s = 3});
  for (int i = 0; i < kPipelines; ++i) {
    SCOPED_TRACE(i);
    const auto [stages, b] = pipelines.Next();
    ASSERT_THAT(Seconds(stages, b), DoubleEq(NaiveSeconds(stages, b)));
  }
}

TEST(RunOneFOneBPropertyTest, EventsOfAStageDoNotOverlap) {
  RandomPipelines pipelines({.min_ratio = 0, .max_ratio = 4, .max_send_s = 1});
  for (int i = 0; i < kPipelines / 10; ++i) {
    SCOPED_TRACE(i);
    const auto [stages, b] = pipelines.Next();
    std::vector<TimelineEvent> timeline;
    const PipelineRun run = RunOneFOneB(stages, b, &timeline);
    EXPECT_EQ(run.iteration_time_s, Seconds(stages, b));
    for (size_t s = 0; s < stages.size(); ++s) {
      int passes = 0;
      double free_s = 0;
      for (const TimelineEvent& event :
           EventsOf(timeline, static_cast<int>(s))) {
        if (event.kind != Kind::kForward && event.kind != Kind::kBackward) {
          continue;
        }
        ++passes;
        ASSERT_GE(event.start_s, free_s);
        free_s = event.end_s;
      }
      ASSERT_EQ(passes, 2 * b);
    }
  }
}

TEST(ClosedFormPropertyTest, EqualsTheScheduleForEqualStagesWithoutTransfers) {
  RandomPipelines pipelines({.min_ratio = 0, .max_ratio = 4});
  for (int i = 0; i < kPipelines; ++i) {
    SCOPED_TRACE(i);
    auto [stages, b] = pipelines.Next();
    stages.assign(stages.size(), stages[0]);
    ASSERT_NEAR(Seconds(stages, b), ClosedFormIterationSeconds(stages, b),
                kRounding);
  }
}

TEST(ClosedFormPropertyTest, BoundsTheScheduleFromAboveForEqualRatios) {
  RandomPipelines pipelines({.max_send_s = 1, .max_sync_s = 3});
  for (int i = 0; i < kPipelines; ++i) {
    SCOPED_TRACE(i);
    const auto [stages, b] = pipelines.Next();
    ASSERT_LE(Seconds(stages, b),
              ClosedFormIterationSeconds(stages, b) + kRounding);
  }
}

TEST(ClosedFormPropertyTest, IsWithinOnePercentForManyMicrobatches) {
  // It exceeds the schedule by at most p − 1 times the slowest stage.
  RandomPipelines pipelines({.max_sync_s = 3});
  for (int i = 0; i < kPipelines / 10; ++i) {
    SCOPED_TRACE(i);
    const std::vector<StageTimes> stages = pipelines.Next().first;
    const int b = 100 * static_cast<int>(stages.size());
    const double closed_s = ClosedFormIterationSeconds(stages, b);
    ASSERT_NEAR(Seconds(stages, b), closed_s, 0.01 * closed_s);
  }
}

TEST(ClosedFormPropertyTest, IsAtMostOnePercentLowWhereSomeStagesRecompute) {
  RandomPipelines pipelines({.min_ratio = 2, .max_ratio = 3, .max_sync_s = 3});
  for (int i = 0; i < kPipelines; ++i) {
    SCOPED_TRACE(i);
    const auto [stages, b] = pipelines.Next();
    ASSERT_LE(Seconds(stages, b), 1.01 * ClosedFormIterationSeconds(stages, b));
  }
}

TEST(ClosedFormPropertyTest,
     ExceedsTheScheduleByAtMostTheStagesAfterTheSlowest) {
  RandomPipelines pipelines({.min_ratio = 0, .max_ratio = 4});
  for (int i = 0; i < kPipelines; ++i) {
    SCOPED_TRACE(i);
    const auto [stages, b] = pipelines.Next();
    const auto time_s = [](const StageTimes& stage) {
      return stage.forward_s + stage.backward_s;
    };
    auto after = 1 + std::max_element(stages.begin(), stages.end(),
                                      [&](const auto& x, const auto& y) {
                                        return time_s(x) < time_s(y);
                                      });
    double slack_s = 0;
    for (; after != stages.end(); ++after) slack_s += time_s(*after);
    ASSERT_GE(Seconds(stages, b),
              ClosedFormIterationSeconds(stages, b) - slack_s - kRounding);
  }
}

}  // namespace
}  // namespace tangram
