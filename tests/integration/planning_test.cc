#include <grpcpp/client_context.h>

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/planner_service.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WorkersTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Planning, WorkersTest, ::testing::Values(1, 2, 4));

TEST_P(WorkersTest, ThePlanIsThatOfOneProcess) {
  TestService service;
  for (int i = 0; i < GetParam(); ++i) service.AddWorker("uniform");

  ASSERT_OK_AND_ASSIGN(
      const PlanFile file,
      CallPlan(service.address(), Encode(SmallRequest(), "uniform")));
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  EXPECT_TRUE(file.result.plan.has_value());
  EXPECT_EQ(file.provenance.num_workers, GetParam());
  EXPECT_FALSE(file.provenance.phases.empty());
}

TEST(PlanningTest, NoPlanFitsIsAnAnswer) {
  TestService service;
  service.AddWorker("uniform");
  PlanRequest request = SmallRequest();
  Cluster& cluster = request.cluster.MakeOwn();
  for (Node& node : cluster.nodes) node.device.memory_bytes = 1e6;
  ASSERT_OK_AND_ASSIGN(const PlanFile file,
                       CallPlan(service.address(), Encode(request, "uniform")));
  EXPECT_FALSE(file.result.plan.has_value());
  EXPECT_FALSE(file.result.infeasible->reason.empty());
}

TEST(PlanningTest, AskedAgainTheCacheAnswers) {
  TestService service({.plan_cache_bytes = 0});
  service.AddWorker("uniform");
  const v1::PlanRequest request = Encode(SmallRequest(), "uniform");
  ASSERT_OK_AND_ASSIGN(const PlanFile first,
                       CallPlan(service.address(), request));
  ASSERT_OK_AND_ASSIGN(const PlanFile second,
                       CallPlan(service.address(), request));
  EXPECT_EQ(Essence(first), Essence(second));
  EXPECT_GE(second.provenance.cache_hits, second.result.stats.queries);
}

TEST(PlanningTest, ReportsProgress) {
  TestService service;
  service.AddWorker("uniform");
  int num_reports = 0;
  grpc::ClientContext context;
  ASSERT_OK_AND_ASSIGN(
      const PlanFile file,
      CallPlan(service.address(), Encode(SmallRequest(), "uniform"), context,
               [&](const v1::PlanProgress& progress) {
                 ++num_reports;
                 EXPECT_EQ(progress.num_workers(), 1);
               }));
  EXPECT_GE(num_reports, 1);
}

TEST(PlanningTest, BadRequestsNameTheField) {
  TestService service;
  v1::PlanRequest request = Encode(SmallRequest(), "uniform");
  request.mutable_cluster()->mutable_nodes(1)->set_num_gpus(0);
  EXPECT_THAT(CallPlan(service.address(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cluster.nodes[1].num_gpus: 0; expected a positive "
                       "integer"));
  request = Encode(SmallRequest(), "");
  EXPECT_THAT(CallPlan(service.address(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parallelizer: empty")));
  request = Encode(SmallRequest(), "uniform");
  request.mutable_options()->set_compute_tolerance(-1);
  EXPECT_THAT(CallPlan(service.address(), request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("options.compute_tolerance: -1; expected")));
}

TEST(PlanningTest, OptionsReachThePlanner) {
  TestService service;
  service.AddWorker("uniform");
  v1::PlanRequest request = Encode(SmallRequest(), "uniform");
  request.mutable_options()->set_pipeline_microbatch_size(2);
  request.mutable_options()->set_prune_redundant(false);
  ASSERT_OK_AND_ASSIGN(const PlanFile file,
                       CallPlan(service.address(), request));
  ASSERT_TRUE(file.result.plan.has_value());
  EXPECT_EQ(file.result.plan->pipeline_microbatch_size, 2);
  EXPECT_EQ(file.result.stats.pruned_redundant, 0);
}

// Plans twice. Returns the planning times that the two answers report.
std::pair<double, double> PlanTwice(TestService& service,
                                    const v1::PlanRequest& first,
                                    const v1::PlanRequest& second) {
  const auto a = CallPlan(service.address(), first);
  const auto b = CallPlan(service.address(), second);
  if (!a.ok() || !b.ok()) return {-1, -1};
  return {a->provenance.wall_s, b->provenance.wall_s};
}

TEST(PlanningTest, TheSameRequestAgainIsNotPlannedAgain) {
  TestService service;
  service.AddWorker("uniform");
  v1::PlanRequest request = Encode(SmallRequest(), "uniform");
  const auto [first_s, second_s] = PlanTwice(service, request, request);
  EXPECT_GT(first_s, 0);
  // Equal only if the second answer is the first: two runs never take equally
  // long.
  EXPECT_EQ(second_s, first_s);
  v1::PlanRequest other = request;
  other.mutable_options()->set_prune_redundant(false);
  const auto [known_s, other_s] = PlanTwice(service, request, other);
  EXPECT_EQ(known_s, first_s);
  EXPECT_NE(other_s, first_s);
}

TEST(PlanningTest, OtherParallelizersPlanAgain) {
  TestService service;
  service.AddWorker("uniform");
  const v1::PlanRequest request = Encode(SmallRequest(), "all");
  ASSERT_OK_AND_ASSIGN(const PlanFile before,
                       CallPlan(service.address(), request));
  EXPECT_THAT(before.provenance.parallelizer, Not(HasSubstr("aceso")));
  service.AddWorker("aceso");
  ASSERT_OK_AND_ASSIGN(const PlanFile after,
                       CallPlan(service.address(), request));
  EXPECT_THAT(after.provenance.parallelizer, HasSubstr("aceso"));
}

TEST(PlanningTest, WithoutACacheEveryRequestIsPlanned) {
  TestService service({.plan_cache_bytes = 0});
  service.AddWorker("uniform");
  const v1::PlanRequest request = Encode(SmallRequest(), "uniform");
  const auto [first_s, second_s] = PlanTwice(service, request, request);
  EXPECT_NE(first_s, second_s);
}

TEST(PlanningTest, FailsAtOnceWithoutAWorkerIfToldTo) {
  TestService service({.worker_wait_s = 0});
  service.AddWorker("uniform");
  EXPECT_THAT(
      CallPlan(service.address(), Encode(SmallRequest(), "aceso")),
      StatusIs(absl::StatusCode::kUnavailable,
               "no worker offers adapter \"aceso\" (1 workers connected)"));
}

}  // namespace
}  // namespace tangram::testing
