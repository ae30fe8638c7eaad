#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "common/wire/grpc_settings.h"
#include "common/wire/grpc_status.h"
#include "common/wire/worker_pool_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/status_service.grpc.pb.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/service/worker_proxy.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A degree that can be read, but exceeds the GPUs of every island here.
constexpr int kAbsurdDegree = 4096;

// A worker whose every plan is absurd while it `errs`. The digests are right,
// as if it believed its plans.
class QuarantineTest : public ::testing::Test {
 protected:
  QuarantineTest() {
    proxy_ = WorkerProxy::Start(service_.address(), [this](v1::Answer& answer) {
      if (!errs_ || !answer.has_parallelize()) return;
      for (auto& plan : *answer.mutable_parallelize()->mutable_plans()) {
        plan.mutable_stages(0)
            ->mutable_plan()
            ->mutable_parallelism()
            ->set_dp_degree(kAbsurdDegree);
      }
      SealAnswer(answer);
    });
    WorkerOptions options{.coordinators = {{.address = proxy_->address()}},
                          .name = "erring"};
    options.parallelizers.push_back(*CreateBuiltinParallelizer("uniform"));
    service_.AddWorker(std::move(options));
    stub_ = v1::Workers::NewStub(OpenChannel(service_.address()));
  }
  ~QuarantineTest() override { proxy_.reset(); }

  absl::StatusOr<PlanFile> Plan() {
    return CallPlan(service_.address(), Encode(SmallRequest(), "uniform"));
  }
  v1::WorkerStatus Erring() {
    grpc::ClientContext context;
    v1::WorkerList list;
    EXPECT_TRUE(
        stub_->ListWorkers(&context, v1::ListWorkersRequest(), &list).ok());
    for (const v1::WorkerStatus& worker : list.workers()) {
      if (worker.name() == "erring") return worker;
    }
    return {};
  }
  absl::Status Release(const std::string& name) {
    grpc::ClientContext context;
    v1::ReleaseWorkerRequest request;
    request.set_name(name);
    v1::ReleaseWorkerResponse response;
    return FromGrpc(stub_->ReleaseWorker(&context, request, &response));
  }

  std::atomic<bool> errs_ = true;
  TestService service_{
      {.quarantine = {.max_rejections = 2}, .plan_cache_bytes = 0}};
  std::unique_ptr<WorkerProxy> proxy_;
  std::unique_ptr<v1::Workers::Stub> stub_;
};

TEST_F(QuarantineTest, PlansGoOnWithTheOthers) {
  service_.AddWorker("uniform");
  ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan());
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  EXPECT_TRUE(Erring().quarantined());
  EXPECT_GE(Erring().rejected(), 2);
  EXPECT_THAT(Erring().last_fault(),
              AllOf(HasSubstr("worker erring"), HasSubstr("adapter uniform 1"),
                    HasSubstr("dp_degree: 4096; expected from 1 to")));
}

TEST_F(QuarantineTest, PlansFailWithTheReasonUntilTheOnlyWorkerIsReleased) {
  EXPECT_THAT(Plan(), StatusIs(absl::StatusCode::kInternal,
                               AllOf(HasSubstr("worker erring"),
                                     HasSubstr("dp_degree: 4096"))));
  for (int i = 0; i < 2 && !Erring().quarantined(); ++i) {
    EXPECT_FALSE(Plan().ok());
  }
  EXPECT_THAT(Plan(), StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("in quarantine for wrong answers: "
                                         "erring")));
  EXPECT_THAT(Release("nobody"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nobody")));
  EXPECT_THAT(Release(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")));

  errs_ = false;
  EXPECT_THAT(Release("erring"), IsOk());
  EXPECT_FALSE(Erring().quarantined());
  ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan());
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
}

}  // namespace
}  // namespace tangram::testing
