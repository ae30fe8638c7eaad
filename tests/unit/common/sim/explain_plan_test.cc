#include "common/sim/explain_plan.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NodeGpus;
using ::testing::Not;
using testing::StageOn;

// Three stages of two GPUs on two islands, with an iteration of 20 s. The
// second stage is the slowest.
struct Finished {
  ModelSpec model = testing::TestModel(4);
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .device = testing::TestDevice("V100")},
       {.name = "b", .device = testing::TestDevice("T4")}});
  PipelinePlan plan = {.stages = {StageOn(0, 2, {}, NodeGpus(0, 2)),
                                  StageOn(2, 4, {}, NodeGpus(0, 2, 2)),
                                  StageOn(4, 6, {}, NodeGpus(1, 2))}};
  Evaluation evaluation = {
      .iteration_time_s = 20,
      .stages = {Stage(2, 0.25, 12e9), Stage(3, 1, 14e9), Stage(2, 0, 4e9)}};

  Finished() {
    plan.stages[2].island = 1;
    plan.stages[0].island = plan.stages[1].island = 0;
  }

  // Four passes of `pass_s`; the stage is idle for the rest of the 20 s.
  static StageEvaluation Stage(double pass_s, double send_s,
                               double peak_bytes) {
    return {.forward_s = pass_s / 4,
            .backward_s = pass_s * 3 / 4,
            .send_s = send_s,
            .busy_s = 4 * pass_s,
            .idle_s = 20 - 4 * pass_s,
            .in_flight = 2,
            .peak_bytes = peak_bytes,
            .capacity_bytes = 16e9};
  }
  std::vector<std::string> Explain() const {
    return ExplainPlan(model, cluster, plan, evaluation);
  }
};

TEST(ExplainPlanTest, SaysWhatAReaderWouldAsk) {
  // Busy 8, 12 and 8 of 20 s: 46.7 %. Pace 2.25, 4 and 2 s.
  EXPECT_THAT(
      Finished().Explain(),
      ElementsAre(
          "An iteration takes 20.00 s. The GPUs' time goes to waiting for "
          "other stages 53.3 %, computation 46.7 %.",
          "Stage 1 (2 x V100) sets the pace: 4.00 s a microbatch; the others "
          "take 2.12 s on average. The most idle stage waits 60.0 % of the "
          "time.",
          "The slowest transfer, between stages 1 and 2, takes 1.00 s a "
          "microbatch, 25.0 % of the slowest stage.",
          "Memory of island 0, stages 0 to 1: nothing is recomputed; the "
          "fullest GPUs (stage 1, 2 microbatches in flight) need 14.00 GB of "
          "16.00 GB, 87.5 %.",
          "Memory of island 1, stage 2: nothing is recomputed; the fullest "
          "GPUs (stage 2, 2 microbatches in flight) need 4.00 GB of 16.00 GB, "
          "25.0 %.",
          "All times are estimates; none was measured."));
}

TEST(ExplainPlanTest, PutsWhatDoesNotFitFirst) {
  Finished in;
  in.evaluation.violations = {
      {.stage = 1, .reason = "needs too much", .bytes_short = 2e9}};
  EXPECT_EQ(in.Explain()[0],
            "Stage 1 does not fit: it needs too much, 2.00 GB short.");
}

TEST(ExplainPlanTest, CallsEqualStagesBalanced) {
  Finished in;
  in.evaluation.stages.assign(3, Finished::Stage(4, 0, 1e9));
  EXPECT_THAT(in.Explain(),
              Contains("All stages take 4.00 s a microbatch: the pipeline is "
                       "balanced."));
}

TEST(ExplainPlanTest, LeavesThePipelineOutWhereThereIsNone) {
  Finished in;
  in.plan.stages.resize(1);
  in.evaluation.stages.resize(1);
  EXPECT_THAT(in.Explain(), Not(Contains(HasSubstr("pace"))));
  EXPECT_THAT(in.Explain(), Not(Contains(HasSubstr("transfer"))));
}

TEST(ExplainPlanTest, SpeaksOfDevicesWhereTheyRunSeveralChunks) {
  Finished in;
  in.plan.schedule = PipelineSchedule::kInterleaved;
  in.plan.virtual_stages = 2;
  in.plan.stages[2] = in.plan.stages[0];
  in.plan.stages.push_back(in.plan.stages[1]);
  in.plan.stages[1].island = 1;
  // Device 0 takes 2 + 1 and 2 + 0.25 s a microbatch, device 1 3 and 3 s.
  in.evaluation.stages = {
      Finished::Stage(2, 1, 12e9), Finished::Stage(3, 0, 14e9),
      Finished::Stage(2, 0.25, 12e9), Finished::Stage(3, 0, 14e9)};
  in.evaluation.stages[3].in_flight = 1;
  in.evaluation.violations = {
      {.stage = 1, .reason = "needs too much", .bytes_short = 2e9}};
  const std::vector<std::string> lines = in.Explain();
  EXPECT_EQ(lines[0],
            "Device 1 does not fit: it needs too much, 2.00 GB short.");
  EXPECT_EQ(lines[2],
            "The schedule is interleaved: stage i is a chunk of device i mod "
            "2.");
  EXPECT_THAT(lines[3], HasSubstr("Device 1 (2 x V100) sets the pace: 6.00 s a "
                                  "microbatch; the others take 5.25 s"));
  EXPECT_THAT(lines[4], HasSubstr("between stages 0 and 1, takes 1.00 s a "
                                  "microbatch, 16.7 % of the slowest device."));
  EXPECT_THAT(lines[6], HasSubstr("Memory of island 1, device 1: nothing is "
                                  "recomputed; the fullest GPUs (device 1, "
                                  "2 + 1 microbatches in flight) need 14.00 "
                                  "GB of 16.00 GB"));
}

TEST(ExplainPlanTest, NamesTheMemoryTechniques) {
  Finished in;
  // Layers 2 and 3 have ten operators; of layer 2 the stage runs the last
  // five, where bits 2 and 3 have no effect and bits 5 and 6 do.
  in.plan.stages[1].plan = {
      .begin = {2, 5},
      .end = {4, 0},
      .parallelism = {.zero_stage = 1, .sequence_parallel = true},
      .recompute = {{.num_layers = 1, .mask = 0x6c},
                    {.num_layers = 1, .mask = 0x4}}};
  in.plan.stages[0].island = in.plan.stages[1].island = -1;
  EXPECT_THAT(in.Explain(),
              Contains(HasSubstr("Memory of stage 1: 3 of 15 operators are "
                                 "recomputed, ZeRO 1, sequence parallelism; "
                                 "the fullest")));
}

TEST(ExplainPlanTest, TellsTheShareOfRecomputationAndOfMeasurements) {
  Finished in;
  // 0.5 s of each of the four passes of stage 2 recompute: 2 of 3 · 20 s.
  in.evaluation.stages[2].recompute_s = 0.5;
  in.evaluation.measured_fraction = 0.75;
  EXPECT_THAT(in.Explain(),
              Contains(HasSubstr("; recomputation takes 3.3 %.")));
  EXPECT_THAT(in.Explain(),
              Contains("75.0 % of the compute time rests on measurements, the "
                       "rest is estimated."));
}

}  // namespace
}  // namespace tangram
