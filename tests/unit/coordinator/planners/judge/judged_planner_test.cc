#include "coordinator/planners/judge/judged_planner.h"

#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// Two nodes of one GPU each; 4 transformer layers, 8 samples.
PlanRequest TwoGpus(double memory_bytes) {
  DeviceSpec device = testing::TestDevice("GPU");
  device.memory_bytes = memory_bytes;
  return {.cluster = testing::TestCluster({{.name = "node",
                                            .num_nodes = 2,
                                            .gpus_per_node = 1,
                                            .device = device}}),
          .model = testing::TestModel(4),
          .training = testing::TestTraining(8)};
}

PlacedStage StageOn(int node, int begin, int end, int island) {
  return {.plan = {.begin = {begin, 0},
                   .end = {end, 0},
                   .recompute = {{end - begin, kRecomputeNone}}},
          .gpus = {{.node = node, .index = 0}},
          .island = island};
}

// The whole model on GPU 0, or cut after `cut` layers.
PipelinePlan WholeModel() {
  return {.pipeline_microbatch_size = 1, .stages = {StageOn(0, 0, 6, 0)}};
}
PipelinePlan CutAfter(int cut) {
  return {.pipeline_microbatch_size = 1,
          .stages = {StageOn(0, 0, cut, 0), StageOn(1, cut, 6, 1)}};
}

double PeakBytes(const PipelinePlan& plan) {
  const PlanRequest request = TwoGpus(1e15);
  double most = 0;
  const auto evaluation =
      EvaluatePlan(request.model, request.cluster, request.training, plan);
  for (const StageEvaluation& stage : evaluation->stages) {
    most = std::max(most, stage.peak_bytes);
  }
  return most;
}

// Proposes the plans of each call in turn, and records the refusals.
struct Script {
  std::vector<std::vector<Proposal>> calls;
  bool exhausted = true;
  PlanningStats stats;
  std::vector<Proposal> improvements;  // After a proposal fitted, one a call.
  std::vector<double> limits_s;        // Told by the judge.
  std::vector<Refusal> told;
  int chosen = -2;
};

class ScriptedSearch : public PlanSearch {
 public:
  explicit ScriptedSearch(Script& script) : script_(script) {}
  absl::StatusOr<std::vector<Proposal>> Propose(
      absl::Span<const Refusal> refused) override {
    script_.told.insert(script_.told.end(), refused.begin(), refused.end());
    if (next_ == script_.calls.size()) return std::vector<Proposal>();
    return script_.calls[next_++];
  }
  absl::StatusOr<std::vector<Proposal>> Improve(
      double limit_s, absl::Span<const Refusal> refused) override {
    script_.limits_s.push_back(limit_s);
    script_.told.insert(script_.told.end(), refused.begin(), refused.end());
    if (script_.improvements.empty()) return std::vector<Proposal>();
    std::vector<Proposal> next = {std::move(script_.improvements.front())};
    script_.improvements.erase(script_.improvements.begin());
    return next;
  }
  absl::StatusOr<PlanFindings> Conclude(const Judgement& judgement) override {
    script_.chosen = judgement.chosen;
    return PlanFindings{.lower_bound_s = 1e-9,
                        .stats = script_.stats,
                        .why_none = Infeasible{.reason = "nothing to propose"},
                        .exhausted = script_.exhausted};
  }

 private:
  Script& script_;
  size_t next_ = 0;
};

class ScriptedPlanner : public Planner {
 public:
  explicit ScriptedPlanner(Script& script) : script_(script) {}
  absl::StatusOr<std::vector<Island>> Islands(const PlanRequest&,
                                              PlanObserver&) override {
    return std::vector<Island>();
  }
  absl::StatusOr<std::unique_ptr<PlanSearch>> Start(const PlanRequest&,
                                                    PlanObserver&) override {
    return std::make_unique<ScriptedSearch>(script_);
  }

 private:
  Script& script_;
};

absl::StatusOr<PlanResult> PlanScript(const PlanRequest& request,
                                      Script& script,
                                      const JudgeOptions& options = {}) {
  testing::SilentObserver observer;
  return CreateJudgedPlanner(std::make_unique<ScriptedPlanner>(script), options)
      ->Plan(request, observer);
}

TEST(JudgedPlannerTest, TheFasterProposalWinsWhateverThePlannerPredicts) {
  Script script{.calls = {{{.plan = WholeModel(), .predicted_s = 1},
                           {.plan = CutAfter(3), .predicted_s = 2}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script));
  EXPECT_EQ(result.plan, CutAfter(3));
  EXPECT_EQ(result.closed_form_s, 2);
  EXPECT_EQ(result.runners_up.size(), 1);
  EXPECT_EQ(script.chosen, 1);
}

TEST(JudgedPlannerTest, PlansOnOtherIslandsAreRefinedToo) {
  const PlanRequest request = TwoGpus(1e15);
  Script script{.calls = {{{.plan = CutAfter(3)}, {.plan = WholeModel()}}}};
  std::vector<double> refined_s;
  PipelinePlan near = CutAfter(4);
  const auto refine = [&](const PlanRequest&, PlanObserver&,
                          PlanResult& result) {
    refined_s.push_back(result.evaluation.iteration_time_s);
    if (result.plan == CutAfter(3)) return absl::OkStatus();
    result.evaluation.iteration_time_s /= 1000;
    result.notes.push_back("refined");
    return absl::OkStatus();
  };
  // One GPU takes about twice as long, which is too far behind.
  ASSERT_OK_AND_ASSIGN(PlanResult result,
                       PlanScript(request, script, {.refine = refine}));
  EXPECT_EQ(result.plan, CutAfter(3));
  EXPECT_EQ(refined_s.size(), 1);

  near.stages[0].island = 2;
  refined_s.clear();
  script = {.calls = {{{.plan = CutAfter(3)}, {.plan = near}}}};
  ASSERT_OK_AND_ASSIGN(result, PlanScript(request, script, {.refine = refine}));
  EXPECT_EQ(refined_s.size(), 2);
  EXPECT_EQ(result.plan, near);
  EXPECT_EQ(script.chosen, 1);
  EXPECT_THAT(result.notes, ElementsAre("refined"));
  EXPECT_LE(result.lower_bound_s, result.evaluation.iteration_time_s);
  ASSERT_EQ(result.runners_up.size(), 1);
  EXPECT_GT(result.runners_up[0].iteration_time_s,
            result.evaluation.iteration_time_s);

  const auto stop = [](const PlanRequest&, PlanObserver&, PlanResult&) {
    return absl::CancelledError("planning stopped");
  };
  script = {.calls = {{{.plan = CutAfter(3)}}}};
  EXPECT_THAT(PlanScript(request, script, {.refine = stop}).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

TEST(JudgedPlannerTest, NotesSayWhichGpusOfThePlanEmulateThePrecision) {
  PlanRequest request = TwoGpus(1e15);
  request.training.precision = Precision::kBf16;
  Cluster& cluster = request.cluster.MakeOwn();
  cluster.nodes[0].device.peak_flops.bf16 = 0;
  Script script{.calls = {{{.plan = WholeModel()}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, PlanScript(request, script));
  EXPECT_THAT(result.notes,
              ElementsAre("GPU has no bf16 units: timed at its fp32 rate"));
}

TEST(JudgedPlannerTest, APlanThatFitsBeatsAFasterOneThatDoesNot) {
  // The balanced cut fits, the whole model on one GPU does not.
  const double memory = (PeakBytes(WholeModel()) + PeakBytes(CutAfter(3))) / 2;
  Script script{.calls = {{{.plan = WholeModel()}, {.plan = CutAfter(3)}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(memory), script));
  EXPECT_EQ(result.plan, CutAfter(3));
  EXPECT_TRUE(result.evaluation.violations.empty());
}

TEST(JudgedPlannerTest, AsksForTheNextBestUntilOneFits) {
  const double memory = (PeakBytes(WholeModel()) + PeakBytes(CutAfter(3))) / 2;
  Script script{.calls = {{{.plan = WholeModel()}},
                          {{.plan = CutAfter(5)}},
                          {{.plan = CutAfter(3)}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(memory), script));
  EXPECT_EQ(result.plan, CutAfter(3));
  ASSERT_EQ(script.told.size(), 2);
  EXPECT_EQ(script.told[0].stage, 0);
  EXPECT_GT(script.told[0].why.bytes_short, 0);
}

TEST(JudgedPlannerTest, ImprovesUntilThePlannerHasNothingFaster) {
  Script script{.calls = {{{.plan = WholeModel()}}, {{.plan = CutAfter(2)}}},
                .improvements = {{.plan = CutAfter(5)}, {.plan = CutAfter(3)}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script));
  EXPECT_EQ(result.plan, CutAfter(3));
  EXPECT_EQ(script.chosen, 2);
  ASSERT_EQ(script.limits_s.size(), 3);
  EXPECT_EQ(script.limits_s[2], result.evaluation.iteration_time_s);
  EXPECT_GT(script.limits_s[0], script.limits_s[2]);
}

TEST(JudgedPlannerTest, AnImprovementThatDoesNotFitChangesNothing) {
  const double memory = (PeakBytes(WholeModel()) + PeakBytes(CutAfter(3))) / 2;
  Script script{.calls = {{{.plan = CutAfter(3)}}},
                .improvements = {{.plan = WholeModel()}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(memory), script));
  EXPECT_EQ(result.plan, CutAfter(3));
  EXPECT_EQ(script.limits_s.size(), 2);
  EXPECT_EQ(script.told.size(), 1);
}

TEST(JudgedPlannerTest, NothingIsImprovedIfNothingFits) {
  Script script{.calls = {{{.plan = WholeModel()}}},
                .improvements = {{.plan = CutAfter(3)}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, PlanScript(TwoGpus(1), script));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_TRUE(script.limits_s.empty());
}

TEST(JudgedPlannerTest, NoPlanSaysHowManyBytesTheClosestLacks) {
  const double most = PeakBytes(WholeModel());
  const double least = PeakBytes(CutAfter(3));
  Script script{.calls = {{{.plan = WholeModel()}}, {{.plan = CutAfter(3)}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(least - 1e6), script));
  EXPECT_FALSE(result.plan.has_value());
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_NEAR(result.infeasible->bytes_short, 1e6, 1);
  EXPECT_LT(result.infeasible->bytes_short, most - least);
  EXPECT_EQ(result.lower_bound_s, 0);
  EXPECT_EQ(script.chosen, -1);
}

TEST(JudgedPlannerTest, NoPlanSaysThatTheSearchWasCutShort) {
  Script script{.calls = {{{.plan = WholeModel()}}}, .exhausted = false};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, PlanScript(TwoGpus(1), script));
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("all 1 pipelines judged were refused"));
  EXPECT_THAT(result.limits, ElementsAre("the search stopped at a limit"));
}

TEST(JudgedPlannerTest, NothingProposedSaysThatTheSearchWasCutShort) {
  Script script{.exhausted = false};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script));
  EXPECT_EQ(result.infeasible->reason, "nothing to propose");
  EXPECT_THAT(result.limits, ElementsAre("the search stopped at a limit"));
}

TEST(JudgedPlannerTest, NoPlanSaysThatAnAnswerWasCutShort) {
  Script script{.stats = {.truncated = true}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script));
  EXPECT_THAT(result.limits, ElementsAre("the search stopped at a limit"));
}

TEST(JudgedPlannerTest, ATimeThatIsNotFiniteNeverWins) {
  for (const double launch_s : {std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()}) {
    PlanRequest request = TwoGpus(1e15);
    DeviceSpec slow = request.cluster->nodes[1].device;
    slow.efficiency.kernel_launch_s = launch_s;
    request.cluster = testing::TestCluster(
        {{.name = "a", .gpus_per_node = 1, .device = testing::TestDevice()},
         {.name = "b", .gpus_per_node = 1, .device = slow}});
    Script script{.calls = {{{.plan = CutAfter(3)}, {.plan = WholeModel()}}}};
    ASSERT_OK_AND_ASSIGN(const PlanResult result, PlanScript(request, script));
    EXPECT_EQ(result.plan, WholeModel());
    Script alone{.calls = {{{.plan = CutAfter(3)}}}};
    ASSERT_OK_AND_ASSIGN(const PlanResult none, PlanScript(request, alone));
    EXPECT_FALSE(none.plan.has_value());
    EXPECT_THAT(none.infeasible->reason, HasSubstr("expected a finite number"));
  }
}

TEST(JudgedPlannerTest, AnInvalidProposalIsRefusedAndNeverReturned) {
  PipelinePlan twice = CutAfter(3);
  twice.stages[1].gpus = twice.stages[0].gpus;
  Script script{.calls = {{{.plan = twice}}, {{.plan = CutAfter(3)}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script));
  EXPECT_EQ(result.plan, CutAfter(3));
  ASSERT_EQ(script.told.size(), 1);
  EXPECT_EQ(script.told[0].stage, -1);
  EXPECT_THAT(script.told[0].why.reason, HasSubstr("each GPU at most once"));
}

TEST(JudgedPlannerTest, NothingProposedIsThePlannersOwnReason) {
  Script script;
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script));
  EXPECT_EQ(result.infeasible, (Infeasible{.reason = "nothing to propose"}));
}

TEST(JudgedPlannerTest, JudgesWhatTheRuntimeMakesOfThePlan) {
  JudgeOptions options;
  options.rules.fit =
      [](const PlanRequest&,
         const PipelinePlan& plan) -> absl::StatusOr<PipelinePlan> {
    if (plan.num_stages() == 1) {
      return absl::InvalidArgumentError("needs two stages");
    }
    return CutAfter(4);
  };
  Script script{.calls = {{{.plan = WholeModel()}, {.plan = CutAfter(3)}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), script, options));
  EXPECT_EQ(result.plan, CutAfter(4));
}

TEST(JudgedPlannerTest, StopsBetweenProposals) {
  testing::SilentObserver observer;
  observer.stop = true;
  Script script{.calls = {{{.plan = WholeModel()}}}};
  EXPECT_THAT(CreateJudgedPlanner(std::make_unique<ScriptedPlanner>(script), {})
                  ->Plan(TwoGpus(1e15), observer),
              StatusIs(absl::StatusCode::kCancelled, "planning stopped"));
}

// Stops at the second poll.
class LateStop : public testing::SilentObserver {
 public:
  bool ShouldStop() override { return ++polls_ >= 2; }

 private:
  int polls_ = 0;
};

// Two pipelines, each of the whole model on one GPU, that share 8 samples.
ReplicatedPlan OnePerGpu(int first_microbatches = 4,
                         int second_microbatches = 4) {
  PipelinePlan second{.pipeline_microbatch_size = 1,
                      .stages = {StageOn(1, 0, 6, 1)}};
  return {.pipelines = {
              {.plan = WholeModel(), .num_microbatches = first_microbatches},
              {.plan = std::move(second),
               .num_microbatches = second_microbatches}}};
}

TEST(JudgedPlannerTest, SeveralPipelinesAreChosenLikeOne) {
  PlanRequest request = TwoGpus(1e15);
  request.training.global_batch_size = 256;  // Worth an exchange of gradients.
  const ReplicatedPlan even = OnePerGpu(128, 128);
  ASSERT_OK_AND_ASSIGN(const ReplicatedEvaluation expected,
                       EvaluateReplicatedPlan(request.model, request.cluster,
                                              request.training, even));
  Script script{.calls = {{{.plan = WholeModel()},
                           {.replicated_plan = even,
                            .predicted_s = 3,
                            .note = "two of them"}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, PlanScript(request, script));
  EXPECT_EQ(script.chosen, 1);
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_EQ(result.replicated_plan, even);
  EXPECT_EQ(result.iteration_time_s(), expected.iteration_time_s);
  EXPECT_EQ(result.closed_form_s, 3);
  EXPECT_THAT(result.notes, ElementsAre("two of them"));
  ASSERT_EQ(result.runners_up.size(), 1);
  EXPECT_GT(result.runners_up.front().iteration_time_s,
            result.iteration_time_s());

  Script slow{.calls = {{{.replicated_plan = OnePerGpu(1, 255)},
                         {.plan = CutAfter(3)}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult one, PlanScript(request, slow));
  EXPECT_EQ(one.plan, CutAfter(3));
  ASSERT_EQ(one.runners_up.size(), 1);
  EXPECT_THAT(one.runners_up[0].islands, ElementsAre(0, 1));
  EXPECT_EQ(one.runners_up[0].num_stages, 2);
}

TEST(JudgedPlannerTest, SeveralPipelinesAreRefusedForMemoryAndForBadShares) {
  Script script{.calls = {{{.replicated_plan = OnePerGpu()},
                           {.replicated_plan = OnePerGpu(3, 4)}},
                          {}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e6), script));
  EXPECT_FALSE(result.has_plan());
  EXPECT_GT(result.infeasible->bytes_short, 0);
  EXPECT_THAT(result.infeasible->reason, HasSubstr("pipeline 0: "));
  ASSERT_EQ(script.told.size(), 2);
  EXPECT_EQ(script.told[0].stage, -1);
  EXPECT_THAT(script.told[1].why.reason, HasSubstr("pipelines"));
}

TEST(JudgedPlannerTest, SeveralPipelinesAreForNoRuntimeAndNotRefined) {
  int refined = 0;
  JudgeOptions options;
  options.refine = [&](const PlanRequest&, PlanObserver&, PlanResult&) {
    ++refined;
    return absl::OkStatus();
  };
  Script free{.calls = {{{.replicated_plan = OnePerGpu()}}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanScript(TwoGpus(1e15), free, options));
  EXPECT_TRUE(result.replicated_plan.has_value());
  EXPECT_EQ(refined, 0);

  options.rules.fit = [](const PlanRequest&, const PipelinePlan& plan) {
    return absl::StatusOr<PipelinePlan>(plan);
  };
  Script bound{.calls = {{{.replicated_plan = OnePerGpu()}}, {}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult none,
                       PlanScript(TwoGpus(1e15), bound, options));
  EXPECT_FALSE(none.has_plan());
  EXPECT_THAT(none.infeasible->reason, HasSubstr("one pipeline"));
}

TEST(JudgedPlannerTest, StopsInsideAnEvaluation) {
  PlanRequest request = TwoGpus(1e15);
  request.training.global_batch_size = 1 << 14;  // Every pass is played.
  Script script{.calls = {{{.plan = CutAfter(3)}}}};
  LateStop observer;
  EXPECT_THAT(CreateJudgedPlanner(std::make_unique<ScriptedPlanner>(script), {})
                  ->Plan(request, observer),
              StatusIs(absl::StatusCode::kCancelled, "planning stopped"));
}

}  // namespace
}  // namespace tangram
