#include "web/view/report.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/sim/explain_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "web/view/json.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::NodeGpus;
using ::testing::Not;
using testing::StageOn;
using ::testing::StartsWith;
using testing::TestCluster;
using testing::TestDevice;
using testing::TestModel;
using testing::TestTraining;

// Four layers on two nodes of four GPUs, a stage on each; a third is left out.
ReportedPlan ExamplePlan() {
  ReportedPlan reported{.name = "plan.json"};
  PlanFile& file = reported.file;
  file.cluster = TestCluster(
      {{"a", 2, 4, TestDevice("T4")}, {"b", 1, 2, TestDevice("P4")}});
  file.cluster.MakeOwn().assumptions = {
      {"groups[0].memory", "16 GB", "catalogue: T4"},
      {"links[0].latency", "50 us", "default"}};
  file.model = TestModel(4);
  file.training = TestTraining(/*global_batch_size=*/32);
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  plan.stages = {
      StageOn(0, 3, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(0, 4)),
      StageOn(3, 6, {.tp_degree = 4}, NodeGpus(1, 4))};
  plan.stages[0].island = plan.stages[1].island = 0;
  PlanResult& result = file.result;
  result.islands = {{.id = 0,
                     .name = "T4 x8",
                     .nodes = {0, 1},
                     .spec = testing::TestIsland(2, 4),
                     .reason = "faster"},
                    {.id = 1,
                     .name = "P4 x2",
                     .nodes = {2},
                     .spec = testing::TestIsland(1, 2)}};
  result.unused_islands = {{1, "brings nothing", 2.5}};
  result.runners_up = {{{0, 1}, 3, 8, 2.5}};
  result.stats = {.pairs = 10, .pruned_redundant = 4, .queries = 6};
  result.notes = {"a note"};
  result.evaluation = *EvaluatePlan(file.model, file.cluster, file.training,
                                    plan, &reported.timeline);
  file.explanation =
      ExplainPlan(file.model, file.cluster, plan, result.evaluation);
  result.plan = plan;
  return reported;
}

ReportedPlan WithoutPlan() {
  ReportedPlan reported = ExamplePlan();
  reported.name = "none.json";
  reported.file.result.plan.reset();
  reported.file.result.infeasible = {"does not fit in memory", 3e9};
  reported.file.explanation.clear();
  reported.timeline.clear();
  return reported;
}

Json ViewOf(const std::vector<ReportedPlan>& plans) {
  return Json::parse(ReportJson(plans));
}

TEST(ReportJsonTest, TellsTheRequest) {
  const Json view = ViewOf({ExamplePlan()});

  EXPECT_EQ(view["format_version"], "tangram.report/v1");
  ASSERT_EQ(view["plans"].size(), 1u);
  const Json& plan = view["plans"][0];
  EXPECT_EQ(plan["name"], "plan.json");
  EXPECT_EQ(plan["model"]["num_layers"], 6);
  ASSERT_EQ(plan["model"]["layer_runs"].size(), 3u);
  EXPECT_EQ(plan["model"]["layer_runs"][1]["kind"], "dense");
  EXPECT_EQ(plan["model"]["layer_runs"][1]["count"], 4);
  EXPECT_EQ(plan["training"]["global_batch_size"], 32);
  EXPECT_EQ(plan["training"]["precision"], "fp16");
  EXPECT_EQ(plan["cluster"]["num_gpus"], 10);
  EXPECT_EQ(plan["cluster"]["gpu_types"], Json({"T4", "P4"}));
  EXPECT_EQ(plan["cluster"]["nodes"][2],
            Json({{"name", "b-0"}, {"gpu", 1}, {"num_gpus", 2}}));
  EXPECT_EQ(plan["notes"], Json::array({"a note"}));
}

TEST(ReportJsonTest, TellsAssumedLinksFromOtherAssumptions) {
  const Json view = ViewOf({ExamplePlan()});
  const Json& assumptions = view["plans"][0]["cluster"]["assumptions"];
  EXPECT_EQ(assumptions[0]["is_link"], false);
  EXPECT_EQ(assumptions[1]["is_link"], true);
  EXPECT_EQ(assumptions[1]["source"], "default");
}

TEST(ReportJsonTest, TellsWhatIslandsAreFor) {
  const Json view = ViewOf({ExamplePlan()});
  const Json& islands = view["plans"][0]["islands"];
  EXPECT_EQ(islands[0]["nodes"], Json({0, 1}));
  EXPECT_EQ(islands[0]["num_gpus"], 8);
  EXPECT_TRUE(islands[0].contains("inter_node"));
  EXPECT_FALSE(islands[0].contains("left_out"));
  EXPECT_EQ(islands[1]["left_out"]["reason"], "brings nothing");
  EXPECT_EQ(islands[1]["left_out"]["best_with_it_s"], 2.5);
  // One node: nothing is between its nodes.
  EXPECT_FALSE(islands[1].contains("inter_node"));
}

TEST(ReportJsonTest, TellsStagesAndWhatTheyTake) {
  const ReportedPlan reported = ExamplePlan();
  const Json view = ViewOf({reported});
  const Json& plan = view["plans"][0]["plan"];
  EXPECT_EQ(plan["num_microbatches"], 8);  // 32 / 4.
  ASSERT_EQ(plan["stages"].size(), 2u);
  const Json& stage = plan["stages"][0];
  EXPECT_EQ(stage["begin"], Json({0, 0}));
  EXPECT_EQ(stage["end"], Json({3, 0}));
  EXPECT_EQ(stage["layers"], "emb-2");
  EXPECT_EQ(stage["gpus"], Json::array({Json({0, 0, 4})}));
  EXPECT_EQ(stage["parallelism"]["tp"], "2");
  EXPECT_EQ(stage["parallelism"]["dp"], 2);
  EXPECT_EQ(stage["times"]["forward_s"],
            reported.file.result.evaluation.stages[0].forward_s);
}

TEST(ReportJsonTest, MemoryByKindAddsUpToThePeak) {
  const Json view = ViewOf({ExamplePlan()});
  for (const Json& stage : view["plans"][0]["plan"]["stages"]) {
    const Json& memory = stage["memory"];
    double sum = 0;
    for (const char* kind :
         {"weight_bytes", "gradient_bytes", "optimizer_bytes",
          "activation_bytes", "transient_bytes", "reserve_bytes"}) {
      EXPECT_GE(memory[kind].get<double>(), 0) << kind;
      sum += memory[kind].get<double>();
    }
    EXPECT_NEAR(sum, memory["peak_bytes"].get<double>(), 1);
    EXPECT_GT(memory["optimizer_bytes"], memory["weight_bytes"]);
  }
}

TEST(ReportJsonTest, TellsSearchAndWhatElseWasClose) {
  const Json view = ViewOf({ExamplePlan()});
  const Json& plan = view["plans"][0];
  EXPECT_EQ(plan["planning"]["pairs"], 10);
  EXPECT_EQ(plan["planning"]["pruned_redundant"], 4);
  EXPECT_EQ(plan["alternatives"]["runners_up"][0]["islands"], Json({0, 1}));
  EXPECT_EQ(plan["alternatives"]["runners_up"][0]["iteration_time_s"], 2.5);
}

TEST(ReportJsonTest, ComparesPlansOfOneJob) {
  const ReportedPlan first = ExamplePlan();
  ReportedPlan same_job = ExamplePlan();
  same_job.name = "other.json";
  ReportedPlan other_job = ExamplePlan();
  other_job.file.training.optimizer = Optimizer::kSgd;

  const Json view = ViewOf({first, other_job, WithoutPlan(), same_job});
  EXPECT_FALSE(view["plans"][0].contains("against"));
  EXPECT_FALSE(view["plans"][1].contains("against"));
  EXPECT_FALSE(view["plans"][2].contains("against"));
  EXPECT_EQ(view["plans"][3]["against"]["plan"], 0);
  EXPECT_THAT(view["plans"][3]["against"]["differences"][0].get<std::string>(),
              StartsWith("iteration time: "));
}

TEST(ReportJsonTest, NoPlanHasAReason) {
  const Json view = ViewOf({WithoutPlan()});
  EXPECT_FALSE(view["plans"][0].contains("plan"));
  EXPECT_EQ(view["plans"][0]["infeasible"]["reason"], "does not fit in memory");
  EXPECT_EQ(view["plans"][0]["infeasible"]["bytes_short"], 3e9);
}

// A file that was not written by Tangram may name any island.
TEST(ReportJsonTest, UnknownIslandsAreNone) {
  ReportedPlan reported = ExamplePlan();
  reported.file.result.plan->stages[1].island = 7;
  const Json view = ViewOf({reported});
  EXPECT_EQ(view["plans"][0]["plan"]["stages"][1]["island"], -1);
}

TEST(ReportPageTest, IsOneFileThatFetchesNothing) {
  const std::string page = ReportPage({ExamplePlan()});
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'"),
                          HasSubstr("\"tangram.report/v1\""),
                          Not(HasSubstr("goes here"))));
  EXPECT_THAT(page, AllOf(Not(HasSubstr(" src=")), Not(HasSubstr("@import")),
                          Not(HasSubstr("url("))));
  EXPECT_LT(page.size(), 200'000u);
}

TEST(ReportPageTest, HostileNamesStayText) {
  constexpr char kHostile[] =
      "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
  ReportedPlan reported = ExamplePlan();
  reported.name = kHostile;
  Cluster& cluster = reported.file.cluster.MakeOwn();
  cluster.name = kHostile;
  cluster.nodes[0].name = kHostile;
  reported.file.model.name = kHostile;
  reported.file.result.notes = {kHostile};
  reported.file.result.plan->stages[0].made_by = kHostile;

  const std::string page = ReportPage({reported});
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  const Json view = ViewOf({reported});
  EXPECT_EQ(view["plans"][0]["cluster"]["name"], kHostile);
}

TEST(ReportJsonTest, ShowsTheGroupsOfMixedStages) {
  ReportedPlan reported = ExamplePlan();
  PlanFile& file = reported.file;
  PipelinePlan& plan = *file.result.plan;
  plan.stages[0] = testing::MixedOn(
      0, 3,
      {.sharing = StageSharing::kRouted,
       .groups = {{.parallelism = {.tp_degree = 2}, .share = 5}, {.share = 3}}},
      NodeGpus(0, 3));
  file.result.evaluation = *EvaluatePlan(
      file.model, file.cluster, file.training, plan, &reported.timeline);
  const Json report = Json::parse(ReportJson({reported}));
  const Json& answer = report["plans"][0]["plan"];
  const Json& mixed = answer["stages"][0]["mixed"];
  EXPECT_EQ(mixed["sharing"], "routed");
  EXPECT_EQ(mixed["groups"][0]["parallelism"]["tp"], "2");
  EXPECT_EQ(mixed["groups"][1]["share"], 3);
  EXPECT_EQ(mixed["groups"][1]["gpus_label"], "1 x T4");
  EXPECT_FALSE(answer["stages"][1].contains("mixed"));
  int tracks_of_group = 0;
  for (const Json& track : answer["timeline"]) {
    if (track.value("group", 0) == 0) continue;
    ++tracks_of_group;
    if (track["kind"] != "forward") continue;
    EXPECT_EQ(track["microbatches"].size(), 3u);
  }
  EXPECT_GE(tracks_of_group, 3);  // Forward, backward, transfers.
}

}  // namespace
}  // namespace tangram
