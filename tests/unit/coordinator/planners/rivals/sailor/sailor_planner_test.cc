#include "coordinator/planners/rivals/sailor/sailor_planner.h"

#include <set>
#include <string>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestGroup;

PlanRequest RequestFor(const std::vector<TestGroup>& groups, int batch = 16) {
  PlanRequest request;
  request.cluster = testing::TestCluster(groups);
  request.model = testing::TestModel(6, 2048);
  request.training = testing::TestTraining(batch);
  return request;
}

DeviceSpec Device(const std::string& type, double memory_bytes, double speed) {
  DeviceSpec device = testing::TestDevice(type);
  device.memory_bytes = memory_bytes;
  device.peak_flops.fp16 *= speed;
  return device;
}

struct Answer {
  std::vector<Proposal> proposals;  // All of them, with their plans.
  PlanFindings findings;
};

Answer AnswerTo(const PlanRequest& request, const SailorOptions& options = {}) {
  testing::SilentObserver observer;
  const auto planner = CreateSailorPlanner(options);
  auto search = planner->Start(request, observer);
  EXPECT_THAT(search, testing::IsOk());
  Answer answer;
  if (!search.ok()) return answer;
  for (;;) {
    auto proposals = (*search)->Propose({});
    EXPECT_THAT(proposals, testing::IsOk());
    if (!proposals.ok() || proposals->empty()) break;
    for (Proposal& proposal : *proposals) {
      proposal.plan = proposal.make_plan();
      answer.proposals.push_back(std::move(proposal));
    }
  }
  answer.findings = *(*search)->Conclude({});
  return answer;
}

void ExpectValid(const Answer& answer, const PlanRequest& request) {
  for (const Proposal& proposal : answer.proposals) {
    EXPECT_THAT(ValidatePlan(request.model, request.cluster, request.training,
                             proposal.plan),
                testing::IsOk());
    EXPECT_GT(proposal.predicted_s, 0);
  }
}

constexpr sailor::Mode kModes[] = {
    sailor::Mode::kCorrected, sailor::Mode::kUpstream, sailor::Mode::kFork};

TEST(SailorPlannerTest, AllPlansAreValidAndRankedByTheirTime) {
  const PlanRequest request = RequestFor(
      {{.name = "a", .num_nodes = 2, .device = Device("A", 16e9, 1)},
       {.name = "b", .num_nodes = 3, .device = Device("B", 8e9, 0.5)}});
  for (const sailor::Mode mode : kModes) {
    const Answer answer =
        AnswerTo(request, {.mode = mode, .recompute = {LayerRecompute::kNone}});
    EXPECT_GT(answer.proposals.size(), 10u);
    ExpectValid(answer, request);
    for (size_t i = 1; i < answer.proposals.size(); ++i) {
      EXPECT_LE(answer.proposals[i - 1].predicted_s,
                answer.proposals[i].predicted_s);
    }
  }
}

// Node sizes and their sum are no powers of two.
TEST(SailorPlannerTest, TakesOddClusters) {
  const PlanRequest request = RequestFor(
      {{.name = "a", .gpus_per_node = 3, .device = Device("A", 16e9, 1)},
       {.name = "b", .gpus_per_node = 1, .device = Device("B", 8e9, 0.5)},
       {.name = "c", .gpus_per_node = 5, .device = Device("A", 16e9, 1)}},
      /*batch=*/12);
  for (const sailor::Mode mode : kModes) {
    const Answer answer = AnswerTo(request, {.mode = mode});
    EXPECT_FALSE(answer.proposals.empty());
    ExpectValid(answer, request);
  }
}

TEST(SailorPlannerTest, TakesOneTypeAlone) {
  const PlanRequest request = RequestFor(
      {{.name = "a", .num_nodes = 1, .device = testing::TestDevice()}});
  for (const sailor::Mode mode : kModes) {
    const Answer answer = AnswerTo(request, {.mode = mode});
    ASSERT_FALSE(answer.proposals.empty());
    ExpectValid(answer, request);
    EXPECT_THAT(answer.proposals[0].plan.stages[0].mixed.groups, IsEmpty());
  }
}

// Three GPUs of each type: two replicas of a stage need both somewhere.
TEST(SailorPlannerTest, StagesOfUnlikeReplicasAreMixed) {
  const PlanRequest request = RequestFor(
      {{.name = "a", .gpus_per_node = 3, .device = Device("A", 4e9, 1)},
       {.name = "b", .gpus_per_node = 3, .device = Device("B", 4e9, 0.9)}});
  const Answer answer = AnswerTo(request);
  ExpectValid(answer, request);
  int num_mixed = 0;
  for (const Proposal& proposal : answer.proposals) {
    for (const PlacedStage& stage : proposal.plan.stages) {
      if (stage.mixed.empty()) continue;
      ++num_mixed;
      EXPECT_EQ(stage.mixed.sharing, StageSharing::kLockStep);
      int share = 0;
      for (const ReplicaGroup& group : stage.mixed.groups) {
        share += group.share;
      }
      EXPECT_EQ(share, proposal.plan.pipeline_microbatch_size);
    }
  }
  EXPECT_GT(num_mixed, 0);
}

TEST(SailorPlannerTest, LeavesOutDegreesThatDoNotDivideTheBatch) {
  const PlanRequest request = RequestFor({{.name = "a",
                                           .num_nodes = 3,
                                           .gpus_per_node = 1,
                                           .device = testing::TestDevice()}});
  const Answer upstream = AnswerTo(request, {.mode = sailor::Mode::kUpstream});
  ExpectValid(upstream, request);
  EXPECT_THAT(upstream.findings.notes,
              ::testing::Contains(HasSubstr("does not divide the batch")));
  const Answer corrected = AnswerTo(request);
  ExpectValid(corrected, request);
  EXPECT_THAT(corrected.findings.notes, IsEmpty());
}

TEST(SailorPlannerTest, RecomputesIfNothingFitsWithout) {
  PlanRequest request = RequestFor(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()}});
  request.training.sequence_length = 8192;
  for (Node& node : request.cluster.MakeOwn().nodes) {
    node.device.memory_bytes = 1.4e9;
  }
  const Answer none = AnswerTo(request, {.recompute = {LayerRecompute::kNone}});
  EXPECT_THAT(none.proposals, IsEmpty());
  ASSERT_TRUE(none.findings.why_none.has_value());
  EXPECT_GT(none.findings.why_none->bytes_short, 0);
  const Answer some = AnswerTo(request);
  ASSERT_FALSE(some.proposals.empty());
  ExpectValid(some, request);
  std::set<OpMask> masks;
  for (const PlacedStage& stage : some.proposals[0].plan.stages) {
    for (const RecomputeRun& run : stage.plan.recompute) masks.insert(run.mask);
  }
  EXPECT_EQ(masks.size(), 2u);  // Embedding and head do not.
}

TEST(SailorPlannerTest, SaysWhyNothingFits) {
  PlanRequest request = RequestFor(
      {{.name = "a", .num_nodes = 1, .device = testing::TestDevice()}});
  for (Node& node : request.cluster.MakeOwn().nodes) {
    node.device.memory_bytes = 1e6;
  }
  for (const sailor::Mode mode : kModes) {
    const Answer answer = AnswerTo(request, {.mode = mode});
    EXPECT_THAT(answer.proposals, IsEmpty());
    ASSERT_TRUE(answer.findings.why_none.has_value());
    EXPECT_THAT(answer.findings.why_none->reason,
                HasSubstr("no even split of the layers fits in memory"));
    EXPECT_GT(answer.findings.why_none->bytes_short, 0);
  }
}

// Neither type has the memory of the whole model.
TEST(SailorPlannerTest, UpstreamWantsOneTypeForAWholePipeline) {
  const PlanRequest request = RequestFor(
      {{.name = "a", .gpus_per_node = 1, .device = Device("A", 6e9, 1)},
       {.name = "b", .gpus_per_node = 1, .device = Device("B", 6e9, 1)}});
  EXPECT_FALSE(AnswerTo(request).proposals.empty());
  const Answer answer = AnswerTo(request, {.mode = sailor::Mode::kUpstream});
  EXPECT_THAT(answer.proposals, IsEmpty());
  ASSERT_TRUE(answer.findings.why_none.has_value());
}

TEST(SailorPlannerTest, SaysThatItsStepsEnded) {
  const PlanRequest request = RequestFor(
      {{.name = "a", .num_nodes = 2, .device = Device("A", 16e9, 1)},
       {.name = "b", .num_nodes = 2, .device = Device("B", 8e9, 0.5)}});
  const Answer answer = AnswerTo(request, {.max_search_steps = 1});
  EXPECT_FALSE(answer.findings.exhausted);
  EXPECT_THAT(answer.findings.limits,
              ::testing::Contains(HasSubstr("max_search_steps")));
}

TEST(SailorPlannerTest, RefusesBadRequests) {
  testing::SilentObserver observer;
  PlanRequest request =
      RequestFor({{.name = "a", .device = testing::TestDevice()}}, /*batch=*/0);
  EXPECT_THAT(CreateSailorPlanner({})->Start(request, observer),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("global_batch_size")));
  request = RequestFor({{.name = "a", .device = testing::TestDevice()}});
  request.cluster.MakeOwn().nodes.clear();
  EXPECT_THAT(CreateSailorPlanner({})->Start(request, observer),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("cluster.nodes: none")));
}

}  // namespace
}  // namespace tangram
