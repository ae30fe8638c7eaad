// A success never has a violation, by call or as a job, even if a worker's
// adapter is wrong about memory. tests/property tests the same in process, with
// more cases. TANGRAM_ANSWER_CASES sets the number of cases.

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sim/evaluate_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/job_service.grpc.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/lying_parallelizer.h"
#include "tests/testing/number_from_environment.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

using ::testing::IsEmpty;

int NumServiceCases() {
  return NumberFromEnvironment("TANGRAM_ANSWER_CASES", 8);
}

// Returns SmallRequest with less of its GPUs' memory in later cases.
PlanRequest TightRequest(int number) {
  PlanRequest request = SmallRequest();
  Cluster& cluster = request.cluster.MakeOwn();
  const double share = 0.6 / (1 + number % 16);
  for (Node& node : cluster.nodes) {
    const double reserved = node.device.efficiency.reserved_bytes;
    node.device.memory_bytes =
        reserved + share * (node.device.memory_bytes - reserved);
  }
  return request;
}

// Returns whether `file` has a plan. Expects a plan to fit.
bool HasPlanThatFits(const PlanRequest& request, const PlanFile& file) {
  EXPECT_NE(file.result.plan.has_value(), file.result.infeasible.has_value());
  if (!file.result.plan.has_value()) {
    EXPECT_FALSE(file.result.infeasible->reason.empty());
    return false;
  }
  const auto evaluation = EvaluatePlan(request.model, request.cluster,
                                       request.training, *file.result.plan);
  EXPECT_THAT(evaluation, IsOk());
  EXPECT_THAT(evaluation->violations, IsEmpty());
  EXPECT_LE(file.result.lower_bound_s, evaluation->iteration_time_s);
  return true;
}

absl::StatusOr<PlanFile> PlanJob(v1::Jobs::Stub& jobs,
                                 const v1::PlanRequest& request,
                                 const std::string& name) {
  v1::SubmitJobRequest submit;
  submit.set_job_id(name);
  *submit.mutable_request() = request;
  v1::Job job;
  grpc::ClientContext context;
  if (!jobs.SubmitJob(&context, submit, &job).ok()) {
    return absl::InternalError("not submitted");
  }
  const bool ended = Eventually([&] {
    v1::GetJobRequest get;
    get.set_job_id(name);
    grpc::ClientContext get_context;
    return jobs.GetJob(&get_context, get, &job).ok() &&
           job.state() >= v1::Job::SUCCEEDED;
  });
  if (!ended) return absl::DeadlineExceededError(name);
  if (job.state() != v1::Job::SUCCEEDED) {
    return absl::InternalError(job.error().message());
  }
  return FromProto(job.result());
}

class AnswersFitTest : public ::testing::TestWithParam<double> {};

TEST_P(AnswersFitTest, PlansByCallAndAsAJobFit) {
  // The only worker is wrong often, and must go on being asked.
  TestService service({.quarantine = {.max_rejections = 0}});
  service.AddWorker(std::make_unique<LyingParallelizer>(
      *CreateBuiltinParallelizer("uniform"), GetParam()));
  const auto jobs = v1::Jobs::NewStub(grpc::CreateChannel(
      service.address(), grpc::InsecureChannelCredentials()));
  int num_plans = 0;
  for (int number = 0; number < NumServiceCases(); ++number) {
    SCOPED_TRACE(::testing::Message() << "case " << number);
    const PlanRequest request = TightRequest(number);
    const v1::PlanRequest message = Encode(request, "uniform");
    const auto called = CallPlan(service.address(), message);
    const auto kept = PlanJob(*jobs, message, absl::StrCat("case-", number));
    // A coordinator may refuse the worker's answers, which is no success
    // either.
    EXPECT_EQ(called.ok(), kept.ok());
    if (!called.ok() || !kept.ok()) continue;
    num_plans += HasPlanThatFits(request, *called) ? 1 : 0;
    HasPlanThatFits(request, *kept);
    EXPECT_EQ(Essence(*called), Essence(*kept));
  }
  if (GetParam() == 1) {
    EXPECT_GT(num_plans, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(MemoryFactor, AnswersFitTest,
                         ::testing::Values(1, 1.5, 4));

}  // namespace
}  // namespace tangram::testing
