#include "common/sim/play_pipeline.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

double Seconds(const PipelineShape& shape,
               const std::vector<StageTimes>& stages) {
  return PlayPipeline(shape, stages).iteration_time_s;
}

// Start and end of an event. Both are −1 if it did not run.
struct Interval {
  double start_s = -1;
  double end_s = -1;
};

// A played pipeline whose events can be looked up.
class Played {
 public:
  Played(const PipelineShape& shape, const std::vector<StageTimes>& stages)
      : shape_(shape), run_(PlayPipeline(shape, stages, &timeline_)) {
    events_.resize(kNumKinds * shape.num_stages() * shape.num_microbatches);
    for (const TimelineEvent& event : timeline_) {
      if (event.microbatch < 0) continue;
      events_[Index(event.kind, event.stage, event.microbatch)] = {
          event.start_s, event.end_s};
    }
  }

  Interval Of(Kind kind, int stage, int microbatch) const {
    return events_[Index(kind, stage, microbatch)];
  }
  const std::vector<TimelineEvent>& timeline() const { return timeline_; }
  double iteration_time_s() const { return run_.iteration_time_s; }

 private:
  static constexpr int kNumKinds = 7;

  size_t Index(Kind kind, int stage, int microbatch) const {
    return (static_cast<size_t>(kind) * shape_.num_stages() + stage) *
               shape_.num_microbatches +
           microbatch;
  }

  const PipelineShape shape_;
  std::vector<TimelineEvent> timeline_;
  const PipelineRun run_;
  std::vector<Interval> events_;
};

struct EqualStages {
  int p = 1;
  int b = 1;
  double forward_s = 1;
  double backward_s = 2;
};

std::vector<EqualStages> EqualPipelines() {
  std::vector<EqualStages> pipelines;
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int multiple : {1, 2, 5}) {
      pipelines.push_back({p, multiple * p, 1, 2});
      pipelines.push_back({p, multiple * p, 2, 3});
    }
  }
  return pipelines;
}

TEST(PlayPipelineFormulaTest, GpipeAndOneFOneBFillAndDrainOnce) {
  // (B + p − 1)(F + B).
  for (const auto& [p, b, f, bw] : EqualPipelines()) {
    const std::vector<StageTimes> stages(p, {.forward_s = f, .backward_s = bw});
    const double want = (b + p - 1) * (f + bw);
    EXPECT_EQ(Seconds({PipelineSchedule::kGpipe, p, 1, b}, stages), want);
    EXPECT_EQ(Seconds({PipelineSchedule::kOneFOneB, p, 1, b}, stages), want);
  }
}

TEST(PlayPipelineFormulaTest, InterleavingDividesTheBubbleByTheChunks) {
  // Chunks of F / v and B / v: B (F + B) + (p − 1)(F + B) / v.
  for (const int v : {2, 3, 4}) {
    for (const auto& [p, b, f, bw] : EqualPipelines()) {
      const std::vector<StageTimes> stages(
          p * v, {.forward_s = f / v, .backward_s = bw / v});
      EXPECT_NEAR(Seconds({PipelineSchedule::kInterleaved, p, v, b}, stages),
                  b * (f + bw) + (p - 1) * (f + bw) / v, 1e-9);
    }
  }
}

TEST(PlayPipelineFormulaTest, ZeroBubbleLeavesTheBubbleOfItsPaper) {
  // Table 1 of 2401.10241: (p − 1)(F + B − W), B the input gradient, W ≤ B.
  // B ≥ p.
  for (const double w : {1.0, 0.75, 0.25}) {
    for (const auto& [p, b, f, bw] : EqualPipelines()) {
      const double input_s = bw - w;
      const std::vector<StageTimes> stages(
          p, {.forward_s = f, .backward_s = bw, .weight_gradient_s = w});
      EXPECT_EQ(Seconds({PipelineSchedule::kZeroBubbleH1, p, 1, b}, stages),
                b * (f + bw) + (p - 1) * (f + input_s - w));
    }
  }
}

TEST(PlayPipelineTest, WeightGradientsAreOnlySplitOffWhereTheScheduleSaysSo) {
  const std::vector<StageTimes> stages = {
      {.forward_s = 1, .backward_s = 2, .weight_gradient_s = 0.5}};
  const Played whole({PipelineSchedule::kOneFOneB, 1, 1, 1}, stages);
  EXPECT_EQ(whole.Of(Kind::kBackward, 0, 0).end_s, 3);
  EXPECT_EQ(whole.Of(Kind::kWeightGradient, 0, 0).end_s, -1);
  const Played split({PipelineSchedule::kZeroBubbleH1, 1, 1, 1}, stages);
  EXPECT_EQ(split.Of(Kind::kBackward, 0, 0).end_s, 2.5);
  EXPECT_EQ(split.Of(Kind::kWeightGradient, 0, 0).end_s, 3);
}

TEST(PlayPipelineTest, TransfersThatBlockStopBothStages) {
  // Stage 0: F0 0–1, a0 1–2, F1 2–3. Stage 1: F0 2–3, B0 3–5. Now both want to
  // send: a1 and g0 5–7, one after the other. Stage 0: B0 7–9. Stage 1: F1 7–8,
  // B1 8–10, g1 10–11. Stage 0: B1 11–13. If only receivers waited: 11.
  std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 2});
  stages[0].send_forward_s = stages[0].send_backward_s = 1;
  const PipelineShape shape = {PipelineSchedule::kOneFOneB, 2, 1, 2};
  EXPECT_EQ(Seconds(shape, stages), 11);
  stages[0].send_blocks = true;
  EXPECT_EQ(Seconds(shape, stages), 13);

  // With buffered sends: a1 5–6 and g0 5–6, B0 6–8 beside F1 6–7, B1 7–9, g1
  // 9–10, B1 10–12.
  stages[0].send_is_buffered = true;
  EXPECT_EQ(Seconds(shape, stages), 12);
  stages[0].send_is_buffered = false;

  const Played played(shape, stages);
  EXPECT_EQ(played.Of(Kind::kSendForward, 0, 0).start_s, 1);
  EXPECT_EQ(std::min(played.Of(Kind::kSendForward, 0, 1).start_s,
                     played.Of(Kind::kSendBackward, 1, 0).start_s),
            5);
  EXPECT_EQ(std::max(played.Of(Kind::kSendForward, 0, 1).end_s,
                     played.Of(Kind::kSendBackward, 1, 0).end_s),
            7);
  EXPECT_EQ(played.Of(Kind::kBackward, 0, 0).start_s, 7);
  EXPECT_EQ(played.Of(Kind::kForward, 1, 1).start_s, 7);
}

TEST(PlayPipelineTest, AMicrobatchMoreCostsWhatBlocksTheMiddleStage) {
  // The passes of a stage and the transfers over its one or two boundaries,
  // both ways.
  for (const auto& [p, boundaries] :
       {std::array{2, 1}, std::array{3, 2}, std::array{4, 2}}) {
    std::vector<StageTimes> stages(p, {.forward_s = 1, .backward_s = 2});
    for (int s = 0; s + 1 < p; ++s) {
      stages[s].send_forward_s = 0.25;
      stages[s].send_backward_s = 0.5;
      stages[s].send_blocks = true;
    }
    const auto seconds = [&, num_stages = p](int b) {
      return Seconds({PipelineSchedule::kOneFOneB, num_stages, 1, b}, stages);
    };
    EXPECT_DOUBLE_EQ(seconds(21) - seconds(20), 3 + boundaries * 0.75) << p;
  }
}

TEST(PlayPipelineTest, GpipeGetsThroughTransfersThatBlock) {
  // Stage 0: F0 0–1, a0 1–2, F1 2–3. Stage 1: F0 2–3, a1 3–4, F1 4–5, B0 5–7,
  // g0 7–8, B1 8–10, g1 10–11. Stage 0: B1 after B0 8–10, 11–13.
  std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 2});
  stages[0].send_forward_s = stages[0].send_backward_s = 1;
  stages[0].send_blocks = true;
  EXPECT_EQ(Seconds({PipelineSchedule::kGpipe, 2, 1, 2}, stages), 13);
}

TEST(PlayPipelineTest, TheLastDeviceSendsToTheFirst) {
  std::vector<StageTimes> stages(4, {.forward_s = 1, .backward_s = 1});
  stages[1].send_forward_s = 3;
  const Played played({PipelineSchedule::kInterleaved, 2, 2, 2}, stages);
  // Device 1 runs stage 1 at 1–2 and 2–3; its link is busy 2–5 and 5–8.
  EXPECT_EQ(played.Of(Kind::kForward, 2, 0).start_s, 5);
  EXPECT_EQ(played.Of(Kind::kForward, 2, 1).start_s, 8);
}

TEST(PlayPipelineTest, ActivationsAndGradientsToTheSameNeighbourShareALink) {
  // With two devices, device 0 sends activations of stage 0 and gradients of
  // stage 2 to device 1.
  std::vector<StageTimes> stages(4, {.forward_s = 1, .backward_s = 1});
  stages[0].send_forward_s = 10;
  stages[1].send_backward_s = 1;
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 2, 2, 4};
  const Played played(shape, stages);
  // Stage 0 sends microbatch 1 at 11–21. Device 1 runs F1.1 21–22 and sends it
  // at once, device 0 F2.1 22–23 and F0.2 23–24. Device 1 has B3.0 23–24,
  // device 0 B2.0 24–25.
  EXPECT_EQ(played.Of(Kind::kSendForward, 0, 2).start_s, 24);
  EXPECT_EQ(played.Of(Kind::kBackward, 2, 0).end_s, 25);
  EXPECT_EQ(played.Of(Kind::kSendBackward, 2, 0).start_s, 34);
}

TEST(PlayPipelineTest, ADeviceSynchronisesAllItsStagesAfterItsLastPass) {
  const std::vector<StageTimes> stages = {
      {.forward_s = 1, .backward_s = 1, .sync_s = 3, .optimizer_s = 5},
      {.forward_s = 1, .backward_s = 1, .sync_s = 7, .optimizer_s = 11}};
  const PipelineShape shape = {PipelineSchedule::kInterleaved, 1, 2, 1};
  EXPECT_EQ(Seconds(shape, stages), 4 + 3 + 7 + 5 + 11);
}

class RandomSchedules {
 public:
  PipelineShape NextShape(PipelineSchedule schedule) {
    const bool interleaved = schedule == PipelineSchedule::kInterleaved;
    const int p = Integer(1, 8);
    return {
        .schedule = schedule,
        .num_devices = p,
        .virtual_stages = interleaved ? Integer(1, 3) : 1,
        .num_microbatches = interleaved ? p * Integer(1, 4) : Integer(1, 24)};
  }

  // Every transfer takes time, so it appears in the timeline.
  std::vector<StageTimes> NextStages(const PipelineShape& shape) {
    std::vector<StageTimes> stages(shape.num_stages());
    for (StageTimes& stage : stages) {
      stage.forward_s = Real(0.1, 1);
      stage.backward_s = stage.forward_s * Real(1, 4);
      stage.weight_gradient_s = stage.backward_s * Real(0, 0.5);
      stage.send_forward_s = Real(0.01, 1);
      stage.send_backward_s = Real(0.01, 1);
      stage.sync_s = Real(0, 3);
      stage.optimizer_s = Real(0, 1);
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

  std::mt19937 generator_{1};
};

// Returns the time at which the input of a pass has arrived.
double ArrivalSeconds(const Played& played, const PipelineShape& shape,
                      const Pass& pass) {
  const int s = pass.stage;
  if (pass.kind == PassKind::kForward && s > 0) {
    return played.Of(Kind::kSendForward, s - 1, pass.microbatch).end_s;
  }
  if (pass.kind == PassKind::kBackward && s + 1 < shape.num_stages()) {
    return played.Of(Kind::kSendBackward, s + 1, pass.microbatch).end_s;
  }
  return 0;
}

double DurationSeconds(const PipelineShape& shape, const StageTimes& stage,
                       PassKind kind) {
  const double later_s = shape.splits_backward() ? stage.weight_gradient_s : 0;
  return std::array{stage.forward_s, stage.backward_s - later_s,
                    later_s}[static_cast<int>(kind)];
}

// Checks that every pass begins exactly when its device has finished the
// previous pass of the order and its input has arrived. Every transfer begins
// exactly when its sender has finished and the link has carried the earlier
// messages. No earlier: nothing overlaps or runs before its inputs. Returns the
// end of the device.
double CheckDevice(const Played& played, const PipelineShape& shape,
                   const std::vector<StageTimes>& stages, int d) {
  double free_s = 0;
  std::array<double, 2> link_free_s = {};
  for (PassSequence order(shape, d); !order.done(); order.Advance()) {
    const Pass pass = order.next();
    const int s = pass.stage;
    const auto kind = std::array{Kind::kForward, Kind::kBackward,
                                 Kind::kWeightGradient}[int(pass.kind)];
    const Interval ran = played.Of(kind, s, pass.microbatch);
    EXPECT_EQ(ran.start_s,
              std::max(free_s, ArrivalSeconds(played, shape, pass)));
    EXPECT_EQ(ran.end_s,
              ran.start_s + DurationSeconds(shape, stages[s], pass.kind));
    free_s = ran.end_s;

    const bool forwards = pass.kind == PassKind::kForward;
    const bool sends = forwards ? s + 1 < shape.num_stages()
                                : pass.kind == PassKind::kBackward && s > 0;
    if (!sends) continue;
    const Interval sent =
        played.Of(forwards ? Kind::kSendForward : Kind::kSendBackward, s,
                  pass.microbatch);
    double& link_s = link_free_s[shape.num_devices == 2 || forwards ? 0 : 1];
    EXPECT_EQ(sent.start_s, std::max(link_s, ran.end_s));
    EXPECT_EQ(sent.end_s,
              sent.start_s + (forwards ? stages[s].send_forward_s
                                       : stages[s - 1].send_backward_s));
    link_s = sent.end_s;
  }
  for (int s = d; s < shape.num_stages(); s += shape.num_devices) {
    free_s += stages[s].sync_s + stages[s].optimizer_s;
  }
  return free_s;
}

class PlayPipelinePropertyTest
    : public ::testing::TestWithParam<PipelineSchedule> {};

TEST_P(PlayPipelinePropertyTest, EveryPassAndTransferStartsAsSoonAsItMay) {
  RandomSchedules pipelines;
  for (int i = 0; i < 200; ++i) {
    const PipelineShape shape = pipelines.NextShape(GetParam());
    SCOPED_TRACE(absl::StrFormat("%d: p %d, v %d, B %d", i, shape.num_devices,
                                 shape.virtual_stages, shape.num_microbatches));
    const std::vector<StageTimes> stages = pipelines.NextStages(shape);
    const Played played(shape, stages);
    double done_s = 0;
    for (int d = 0; d < shape.num_devices; ++d) {
      done_s = std::max(done_s, CheckDevice(played, shape, stages, d));
    }
    EXPECT_NEAR(played.iteration_time_s(), done_s, 1e-9);
    EXPECT_EQ(played.iteration_time_s(), Seconds(shape, stages));
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(PlayPipelinePropertyTest, TheTimelineIsInOrderOfStageThenStart) {
  RandomSchedules pipelines;
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE(i);
    const PipelineShape shape = pipelines.NextShape(GetParam());
    const Played played(shape, pipelines.NextStages(shape));
    EXPECT_TRUE(std::is_sorted(
        played.timeline().begin(), played.timeline().end(),
        [](const TimelineEvent& a, const TimelineEvent& b) {
          return a.stage != b.stage ? a.stage < b.stage : a.start_s < b.start_s;
        }));
    const int kinds = shape.splits_backward() ? 3 : 2;
    const int transfers = 2 * (shape.num_stages() - 1);
    EXPECT_EQ(
        played.timeline().size(),
        shape.num_microbatches * (kinds * shape.num_stages() + transfers) +
            2 * shape.num_stages());
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, PlayPipelinePropertyTest,
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

// max over s ≤ u of (Σ (f + b) + 2 Σ c) / (w_s − w_u + 1).
double PeriodFormula(const std::vector<StageTimes>& stages,
                     const std::vector<int>& warm_up) {
  double period_s = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    double ring_s = 0;
    for (size_t u = s; u < stages.size(); ++u) {
      ring_s += stages[u].forward_s + stages[u].backward_s;
      period_s = std::max(period_s, ring_s / (warm_up[s] - warm_up[u] + 1));
      ring_s += stages[u].send_forward_s + stages[u].send_backward_s;
    }
  }
  return period_s;
}

double SecondsOf(const std::vector<StageTimes>& stages,
                 const std::vector<int>& warm_up, int num_microbatches) {
  return PlayPipeline({.num_devices = static_cast<int>(stages.size()),
                       .num_microbatches = num_microbatches,
                       .warm_up_passes = warm_up},
                      stages)
      .iteration_time_s;
}

TEST(WarmUpPropertyTest, ThePeriodIsTheLargestCycleMean) {
  std::mt19937 generator(8);
  const auto real = [&](double low, double high) {
    return low +
           (high - low) * static_cast<double>(generator() % 10000) / 10000;
  };
  for (int i = 0; i < 400; ++i) {
    const int p = 1 + static_cast<int>(generator() % 6);
    std::vector<StageTimes> stages(p);
    std::vector<int> warm_up(p, 1);
    for (int s = p - 1; s >= 0; --s) {
      stages[s].forward_s = real(0.5, 1.5);
      stages[s].backward_s = 2 * stages[s].forward_s;
      if (s + 1 == p) continue;
      stages[s].send_forward_s = stages[s].send_backward_s =
          real(0, 3) * stages[s].forward_s;
      warm_up[s] = warm_up[s + 1] + 1 + static_cast<int>(generator() % 3);
    }
    SCOPED_TRACE(absl::StrFormat("%d: p %d", i, p));
    constexpr int kMany = 1 << 20;
    const double period_s = (SecondsOf(stages, warm_up, 2 * kMany) -
                             SecondsOf(stages, warm_up, kMany)) /
                            kMany;
    ASSERT_NEAR(period_s / PeriodFormula(stages, warm_up), 1, 1e-6);
  }
}

TEST(WarmUpTest, FurtherPassesHideATransferIffTheyCoverItBothWays) {
  // Two stages of 3 s: e more passes hide the transfers iff e ≥ 2 c / 3.
  std::vector<StageTimes> stages(2, {.forward_s = 1, .backward_s = 2});
  const auto period_s = [&](double transfer_s, int more) {
    stages[0].send_forward_s = stages[0].send_backward_s = transfer_s;
    const std::vector<int> warm_up = {2 + more, 1};
    // Whole periods, of two and of three microbatches.
    return (SecondsOf(stages, warm_up, 2400) -
            SecondsOf(stages, warm_up, 1200)) /
           1200;
  };
  EXPECT_NEAR(period_s(0, 0), 3, 1e-9);
  EXPECT_NEAR(period_s(1.5, 0), 3 + 1.5, 1e-9);
  EXPECT_NEAR(period_s(1.5, 1), 3, 1e-9);
  EXPECT_NEAR(period_s(2.1, 1), 3.4, 1e-9);
  EXPECT_NEAR(period_s(2.1, 2), 3, 1e-9);
}

}  // namespace
}  // namespace tangram
