#include "common/sim/chrome_trace.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using Kind = TimelineEvent::Kind;
using nlohmann::json;

Cluster OneNode(const std::string& type = "T4") {
  return testing::TestCluster(
      {{.name = "a", .device = testing::TestDevice(type)}});
}

PipelinePlan TwoStages() {
  PipelinePlan plan = {
      .stages = {testing::StageOn(0, 3, {}, testing::NodeGpus(0, 1)),
                 testing::StageOn(3, 6, {.dp_degree = 2},
                                  testing::NodeGpus(0, 2, 1))}};
  plan.stages[0].island = 0;
  plan.stages[1].island = 1;
  return plan;
}

// Returns the names of the metadata or events with `phase`, in order.
std::vector<std::string> Names(const json& trace, const std::string& phase) {
  std::vector<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != phase) continue;
    names.push_back(phase == "M" ? event["args"]["name"] : event["name"]);
  }
  return names;
}

TEST(ToChromeTraceTest, NamesIslandsStagesAndTransfers) {
  const json trace = json::parse(ToChromeTrace(OneNode(), TwoStages(), {}));
  EXPECT_THAT(Names(trace, "M"),
              ElementsAre("island 0: 1 x T4", "island 1: 2 x T4",
                          "stage 0: 1 x T4, 1 GPU", "stage 0 to 1",
                          "stage 1: 2 x T4, dp 2", "stage 1 to 0"));
}

TEST(ToChromeTraceTest, NamesEveryKindOfEvent) {
  const std::vector<TimelineEvent> timeline = {
      {Kind::kForward, 0, 3, 0, 0, 1},
      {Kind::kSendForward, 0, 3, 0, 1, 2},
      {Kind::kBackward, 1, 2, 0, 2, 3},
      {Kind::kSendBackward, 1, 2, 0, 3, 4},
      {Kind::kWeightGradient, 1, 2, 0, 3, 4},
      {Kind::kGradientSync, 1, -1, 0, 4, 5},
      {Kind::kOptimizer, 1, -1, 0, 5, 6}};
  const json trace =
      json::parse(ToChromeTrace(OneNode(), TwoStages(), timeline));
  EXPECT_THAT(Names(trace, "X"),
              ElementsAre("F3", "send F3", "B2", "send B2", "W2",
                          "gradient sync", "optimizer"));
}

TEST(ToChromeTraceTest, GivesADeviceOneTrackForItsChunks) {
  PipelinePlan plan = TwoStages();
  plan.schedule = PipelineSchedule::kInterleaved;
  plan.virtual_stages = 2;
  plan.stages.push_back(plan.stages[0]);
  plan.stages.push_back(plan.stages[1]);
  const json trace = json::parse(ToChromeTrace(
      OneNode(), plan,
      {{Kind::kForward, 0, 3, 0, 0, 1}, {Kind::kSendForward, 3, 4, 0, 1, 2}}));
  EXPECT_THAT(
      Names(trace, "M"),
      ElementsAre("island 0: 1 x T4", "island 1: 2 x T4",
                  "device 0: 1 x T4, 1 GPU", "device 0 to 1", "device 0 to 1",
                  "device 1: 2 x T4, dp 2", "device 1 to 0", "device 1 to 0"));
  EXPECT_THAT(Names(trace, "X"), ElementsAre("F3 chunk 0", "send F4 chunk 1"));
  const json& last = trace["traceEvents"].back();
  EXPECT_EQ(last["pid"], 2);  // Island 1.
  EXPECT_EQ(last["tid"], 4);  // As stage 1.
}

TEST(ToChromeTraceTest, WritesMicrosecondsToTheNanosecond) {
  const json trace = json::parse(
      ToChromeTrace(OneNode(), TwoStages(),
                    {{Kind::kBackward, 1, 0, 0, 123.456789012, 124}}));
  const json& event = trace["traceEvents"].back();
  EXPECT_EQ(event["ts"], 123456789.012);
  EXPECT_EQ(event["dur"], 543210.988);
  EXPECT_EQ(event["pid"], 2);  // Island 1.
}

TEST(ToChromeTraceTest, KeepsEventsThatOverlapOnTracksOfTheirOwn) {
  const std::vector<TimelineEvent> timeline = {
      {Kind::kForward, 1, 1, 0, 0, 2},
      {Kind::kSendForward, 1, 0, 0, 0, 2},
      {Kind::kSendBackward, 1, 0, 0, 0, 2}};
  const json trace =
      json::parse(ToChromeTrace(OneNode(), TwoStages(), timeline));
  std::vector<int> threads;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") threads.push_back(event["tid"]);
  }
  EXPECT_THAT(threads, ElementsAre(3, 4, 5));
}

TEST(ToChromeTraceTest, GivesGroupsThatTakeMicrobatchesTracksOfTheirOwn) {
  PipelinePlan plan = TwoStages();
  plan.stages[1] = testing::MixedOn(
      3, 6,
      {.sharing = StageSharing::kRouted,
       .groups = {{.share = 2}, {.parallelism = {.tp_degree = 2}, .share = 1}}},
      testing::NodeGpus(0, 3, 1));
  const json trace = json::parse(ToChromeTrace(
      OneNode(), plan,
      {{Kind::kForward, 1, 1, 0, 0, 2}, {Kind::kForward, 1, 2, 1, 0, 2}}));
  EXPECT_THAT(
      Names(trace, "M"),
      ElementsAre("GPUs: 3 x T4", "island 0: 1 x T4", "stage 0: 1 x T4, 1 GPU",
                  "stage 0 to 1", "stage 1 group 0: 1 x T4, 1 GPU",
                  "stage 1 group 0 to 0", "stage 1 group 1: 2 x T4, tp 2",
                  "stage 1 group 1 to 0"));
  EXPECT_EQ(trace["traceEvents"].back()["tid"], 6);
  plan.stages[1].mixed.sharing = StageSharing::kLockStep;
  EXPECT_THAT(Names(json::parse(ToChromeTrace(OneNode(), plan, {})), "M"),
              ::testing::Contains("stage 1: 3 x T4, 1 GPU + tp 2"));
}

TEST(ToChromeTraceTest, GivesEachPipelineProcessesOfItsOwn) {
  const ReplicatedPlan plan = {
      .pipelines = {{.plan = TwoStages()}, {.plan = TwoStages()}}};
  const std::vector<std::vector<TimelineEvent>> timelines = {
      {{Kind::kForward, 0, 0, 0, 0, 1}},
      {{Kind::kReplicaSync, 1, -1, 0, 1, 2}}};
  const json trace = json::parse(ToChromeTrace(OneNode(), plan, timelines));
  const std::vector<std::string> names = Names(trace, "M");
  EXPECT_EQ(names[0], "pipeline 0, island 0: 1 x T4");
  EXPECT_THAT(names, ::testing::Contains("pipeline 1, island 1: 2 x T4"));
  EXPECT_EQ(names.back(), "stage 1 to other pipelines");
  EXPECT_THAT(Names(trace, "X"),
              ElementsAre("F0", "exchange between pipelines"));
  EXPECT_EQ(trace["traceEvents"].back()["pid"], 5);
}

TEST(ToChromeTraceTest, EscapesNamesFromOutside) {
  const std::string odd = "A\"\\\n\x01µ";
  PipelinePlan plan = TwoStages();
  plan.stages[0].island = plan.stages[1].island = -1;
  const json trace = json::parse(ToChromeTrace(OneNode(odd), plan, {}));
  EXPECT_EQ(Names(trace, "M")[0], "GPUs: 3 x " + odd);
}

}  // namespace
}  // namespace tangram
