#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/grpc_status.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/status_service.grpc.pb.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/service/test_tokens.h"
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
    AddWorker("erring", "token-1", proxy_->address());
    stub_ = v1::Workers::NewStub(OpenChannel(service_.address()));
  }
  ~QuarantineTest() override { proxy_.reset(); }

  void AddWorker(const std::string& name, const std::string& token,
                 const std::string& address) {
    WorkerOptions options{
        .coordinators = {{.address = address,
                          .token_file = tokens_.FileOf(token)}},
        .name = name};
    options.parallelizers.push_back(*CreateBuiltinParallelizer("uniform"));
    service_.AddWorker(std::move(options));
  }
  absl::StatusOr<PlanFile> Plan() {
    grpc::ClientContext context;
    TestTokens::Authorize("user", context);
    return CallPlan(service_.address(), Encode(SmallRequest(), "uniform"),
                    context);
  }
  v1::WorkerStatus Find(const std::string& name) {
    grpc::ClientContext context;
    TestTokens::Authorize("operator", context);
    v1::WorkerList list;
    EXPECT_TRUE(
        stub_->ListWorkers(&context, v1::ListWorkersRequest(), &list).ok());
    for (const v1::WorkerStatus& worker : list.workers()) {
      if (worker.name() == name) return worker;
    }
    return {};
  }
  v1::WorkerStatus Erring() { return Find("erring"); }
  absl::Status Release(const std::string& name) {
    grpc::ClientContext context;
    TestTokens::Authorize("operator", context);
    v1::ReleaseWorkerRequest request;
    request.set_name(name);
    v1::ReleaseWorkerResponse response;
    return FromGrpc(stub_->ReleaseWorker(&context, request, &response));
  }

  const TestTokens tokens_{{"user,team,plan", "operator,,operate",
                            "token-1,,work", "token-2,,work"}};
  std::atomic<bool> errs_ = true;
  TestService service_{{.auth = tokens_.auth(),
                        .worker_wait_s = 0.5,
                        .quarantine = {.max_rejections = 2},
                        .plan_cache_bytes = 0}};
  std::unique_ptr<WorkerProxy> proxy_;
  std::unique_ptr<v1::Workers::Stub> stub_;
};

TEST_F(QuarantineTest, PlansGoOnWithTheOthers) {
  AddWorker("honest", "token-2", service_.address());
  ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan());
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  EXPECT_TRUE(Erring().quarantined());
  EXPECT_EQ(Erring().source(), "token-1@127.0.0.1");
  EXPECT_FALSE(Find("honest").quarantined());
  EXPECT_GE(Erring().rejected(), 2);
  EXPECT_THAT(
      Erring().last_fault(),
      AllOf(HasSubstr("worker erring"),
            HasSubstr(absl::StrCat("adapter uniform ", VersionOf("uniform"))),
            HasSubstr("dp_degree: 4096; expected a positive integer")));
}

TEST_F(QuarantineTest, PlansFailWithTheReasonUntilTheOnlyWorkerIsReleased) {
  EXPECT_THAT(Plan(), StatusIs(absl::StatusCode::kInternal,
                               AllOf(HasSubstr("worker erring"),
                                     HasSubstr("dp_degree: 4096"))));
  for (int i = 0; i < 2 && !Erring().quarantined(); ++i) {
    EXPECT_FALSE(Plan().ok());
  }
  EXPECT_THAT(Plan(), StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("in quarantine: erring")));
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

TEST_F(QuarantineTest, AnotherNameOfTheSameCallerIsNotAskedEither) {
  while (!Erring().quarantined()) EXPECT_FALSE(Plan().ok());
  AddWorker("renamed", "token-1", service_.address());
  EXPECT_TRUE(Find("renamed").quarantined());
  // Nor can the worker bring another into quarantine by taking its name.
  AddWorker("erring", "token-2", service_.address());
  ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan());
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  EXPECT_THAT(Release("token-2@127.0.0.1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("token-2")));
  EXPECT_THAT(Release("token-1@127.0.0.1"), IsOk());
  EXPECT_FALSE(Find("renamed").quarantined());
}

// Fails as an adapter in a program does whose process dies.
class FailingParallelizer : public ForwardingParallelizer {
 public:
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice&, const IslandSpec&,
      const ParallelizeOptions&) const override {
    return absl::InternalError("uniform: ended by signal 9\x1b[2J");
  }

 private:
  const Parallelizer& target() const override { return *uniform_; }

  const std::unique_ptr<Parallelizer> uniform_ =
      *CreateBuiltinParallelizer("uniform");
};

TEST_F(QuarantineTest, AFailureOfOneWorkerIsAskedElsewhereAndCounted) {
  errs_ = false;
  WorkerOptions failing{
      .coordinators = {{.address = service_.address(),
                        .token_file = tokens_.FileOf("token-2")}},
      .name = "failing"};
  failing.parallelizers.push_back(std::make_unique<FailingParallelizer>());
  service_.AddWorker(std::move(failing));
  ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan());
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  EXPECT_TRUE(Find("failing").quarantined());
  EXPECT_THAT(Find("failing").last_fault(),
              AllOf(HasSubstr("worker failing"),
                    HasSubstr("uniform: ended by signal 9?[2J")));
  EXPECT_EQ(Erring().rejected(), 0);
}

// The name would reach logs and terminals.
TEST_F(QuarantineTest, ANameWithControlCharactersIsRefused) {
  const auto pool = v1::WorkerPool::NewStub(OpenChannel(service_.address()));
  for (const int field : {0, 1, 2, 3}) {
    v1::WorkerMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_name("w");
    hello.set_version("1");
    hello.set_capacity(1);
    *hello.add_adapters() = ToProto(AdapterInfo{.id = {"a", "1"}});
    const std::string nasty = "x\x1b[2J\u202E";
    if (field == 0) hello.set_name(nasty);
    if (field == 1) hello.set_version(nasty);
    if (field == 2) hello.mutable_adapters(0)->set_name(nasty);
    if (field == 3) hello.mutable_adapters(0)->set_version(nasty);
    grpc::ClientContext context;
    TestTokens::Authorize("token-2", context);
    const auto stream = pool->Work(&context);
    stream->Write(message);
    v1::CoordinatorMessage answer;
    EXPECT_FALSE(stream->Read(&answer));
    EXPECT_THAT(FromGrpc(stream->Finish()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("hello."), HasSubstr("\\x1b[2J"),
                               HasSubstr("no control characters"))));
  }
}

// It would look like the source of a worker.
TEST_F(QuarantineTest, ANameLikeASourceIsRefused) {
  const auto pool = v1::WorkerPool::NewStub(OpenChannel(service_.address()));
  v1::WorkerMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_name("token-1@127.0.0.1");
  hello.set_capacity(1);
  *hello.add_adapters() = ToProto(AdapterInfo{.id = {"a", "1"}});
  grpc::ClientContext context;
  TestTokens::Authorize("token-2", context);
  const auto stream = pool->Work(&context);
  stream->Write(message);
  v1::CoordinatorMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_THAT(FromGrpc(stream->Finish()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "hello.name: \"token-1@127.0.0.1\"; expected no \"@\", "
                       "which sources of workers have"));
}

}  // namespace
}  // namespace tangram::testing
