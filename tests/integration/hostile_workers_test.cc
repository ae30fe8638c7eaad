// Plans beside a worker that harms them as much as the protocol lets it.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/parallelizer_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/service/test_tokens.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Dials, waits for a query, hangs up, and dials again.
class HangingUpWorker {
 public:
  HangingUpWorker(const std::string& address, const std::string& token)
      : stub_(v1::WorkerPool::NewStub(OpenChannel(address))), token_(token) {
    thread_ = std::thread([this] {
      while (!is_stopping_) TakeAndHangUp();
    });
  }
  ~HangingUpWorker() {
    is_stopping_ = true;
    {
      const std::lock_guard lock(mutex_);
      if (context_ != nullptr) context_->TryCancel();
    }
    thread_.join();
  }

  int num_taken() const { return num_taken_; }

 private:
  void TakeAndHangUp() {
    grpc::ClientContext context;
    TestTokens::Authorize(token_, context);
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      context_ = &context;
    }
    const auto stream = stub_->Work(&context);
    v1::WorkerMessage message;
    message.mutable_hello()->set_name("bad");
    message.mutable_hello()->set_version("1");
    message.mutable_hello()->set_capacity(1);
    *message.mutable_hello()->add_adapters() =
        ToProto(AdapterInfo{.id = {"uniform", VersionOf("uniform")}});
    stream->Write(message);
    v1::CoordinatorMessage leased;
    while (stream->Read(&leased)) {
      if (leased.leases_size() == 0) continue;
      ++num_taken_;
      context.TryCancel();
    }
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    stream->Finish();
  }

  const std::unique_ptr<v1::WorkerPool::Stub> stub_;
  const std::string token_;
  std::atomic<int> num_taken_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  grpc::ClientContext* context_ = nullptr;
  std::thread thread_;
};

// An adapter of any name and version that fails every search.
class BrokenParallelizer : public ForwardingParallelizer {
 public:
  BrokenParallelizer(std::string name, std::string version, absl::Status error)
      : name_(std::move(name)),
        version_(std::move(version)),
        error_(std::move(error)) {}

  std::string name() const override { return name_; }
  std::string version() const override { return version_; }
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice&, const IslandSpec&,
      const ParallelizeOptions&) const override {
    return error_;
  }

 private:
  const Parallelizer& target() const override { return *uniform_; }

  const std::unique_ptr<Parallelizer> uniform_ =
      *CreateBuiltinParallelizer("uniform");
  const std::string name_;
  const std::string version_;
  const absl::Status error_;
};

class HostileWorkersTest : public ::testing::Test {
 protected:
  void Start(CoordinatorOptions options = {}) {
    options.auth = tokens_.auth();
    options.cache_bytes = 0;
    options.plan_cache_bytes = 0;
    service_ = std::make_unique<TestService>(options);
  }
  void AddWorker(const std::string& token,
                 std::unique_ptr<Parallelizer> parallelizer) {
    WorkerOptions options{
        .coordinators = {{.address = service_->address(),
                          .token_file = tokens_.FileOf(token)}},
        .name = token};
    options.parallelizers.push_back(std::move(parallelizer));
    service_->AddWorker(std::move(options));
  }
  void AddHonestWorker() {
    AddWorker("honest", *CreateBuiltinParallelizer("uniform"));
  }
  absl::StatusOr<PlanFile> Plan(const std::string& parallelizer) {
    grpc::ClientContext context;
    TestTokens::Authorize("user", context);
    return CallPlan(service_->address(), Encode(SmallRequest(), parallelizer),
                    context);
  }
  PoolWorkerStatus Find(const std::string& caller) {
    for (auto& worker : service_->server().pool().Workers()) {
      if (worker.info.identity.caller == caller) return worker;
    }
    return {};
  }

  const TestTokens tokens_{{"user,team,plan", "bad,,work", "bad-2,,work",
                            "bad-3,,work", "honest,,work"}};
  std::unique_ptr<TestService> service_;
};

// Else it would get few queries.
constexpr WorkQueueOptions kShortPauses = {.first_pause_s = 0.001};

TEST_F(HostileWorkersTest, AWorkerThatHangsUpFailsNoPlan) {
  Start({.quarantine = {.max_rejections = 0}, .queue = kShortPauses});
  AddHonestWorker();
  const HangingUpWorker bad(service_->address(), "bad");
  while (bad.num_taken() < 10) {
    ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan("uniform"));
    EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  }
}

// A query of theirs is not given up while a worker is there that may answer it.
TEST_F(HostileWorkersTest, ThreeWorkersThatHangUpFailNoPlan) {
  Start({.quarantine = {.max_rejections = 0}, .queue = kShortPauses});
  AddHonestWorker();
  const HangingUpWorker bad(service_->address(), "bad");
  const HangingUpWorker bad2(service_->address(), "bad-2");
  const HangingUpWorker bad3(service_->address(), "bad-3");
  while (std::min({bad.num_taken(), bad2.num_taken(), bad3.num_taken()}) < 10) {
    ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan("uniform"));
    EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  }
}

TEST_F(HostileWorkersTest, AWorkerThatHangsUpIsQuarantined) {
  Start({.quarantine = {.max_rejections = 1}});
  AddHonestWorker();
  const HangingUpWorker bad(service_->address(), "bad");
  while (!Find("bad").quarantined) {
    ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan("uniform"));
  }
  EXPECT_THAT(
      Find("bad").last_fault,
      AllOf(HasSubstr("worker bad"), HasSubstr("lost while it held queries")));
  EXPECT_FALSE(Find("honest").quarantined);
}

TEST_F(HostileWorkersTest, AVerdictOfOneWorkerFailsNoPlan) {
  Start({.quarantine = {.max_rejections = 1}});
  AddWorker("bad", std::make_unique<BrokenParallelizer>(
                       "uniform", VersionOf("uniform"),
                       absl::InvalidArgumentError("slice: wrong")));
  EXPECT_THAT(Plan("uniform"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("worker bad"),
                             HasSubstr(absl::StrCat("adapter uniform ",
                                                    VersionOf("uniform"),
                                                    ": slice: wrong")))));
  AddHonestWorker();
  ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan("uniform"));
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  EXPECT_TRUE(Find("bad").quarantined);
  EXPECT_THAT(Find("bad").last_fault, HasSubstr("slice: wrong"));
}

TEST_F(HostileWorkersTest, AVerdictThatTwoWorkersAgreeOnFailsNoPlan) {
  Start({.quarantine = {.max_rejections = 3}});
  for (const char* name : {"bad", "bad-2"}) {
    AddWorker(name, std::make_unique<BrokenParallelizer>(
                        "uniform", VersionOf("uniform"),
                        absl::InvalidArgumentError("slice: wrong")));
  }
  EXPECT_THAT(
      Plan("uniform"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("worker bad ("), HasSubstr("worker bad-2 ("),
                HasSubstr(absl::StrCat(" agree, adapter uniform ",
                                       VersionOf("uniform"), ": slice")))));
  AddHonestWorker();
  while (!Find("bad").quarantined || !Find("bad-2").quarantined) {
    ASSERT_OK_AND_ASSIGN(const PlanFile file, Plan("uniform"));
    EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
  }
  EXPECT_FALSE(Find("honest").quarantined);
}

TEST_F(HostileWorkersTest, AVersionThatOnlyFailsIsReplaced) {
  Start({.worker_wait_s = 30});
  AddWorker("bad", std::make_unique<BrokenParallelizer>(
                       "uniform", "0", absl::InternalError("no memory")));
  AddHonestWorker();
  ASSERT_OK_AND_ASSIGN(PlanFile file, Plan("uniform"));
  EXPECT_EQ(file.provenance.parallelizer,
            absl::StrCat("uniform ", VersionOf("uniform")));
  ASSERT_FALSE(file.result.notes.empty());
  EXPECT_THAT(file.result.notes.back(),
              AllOf(HasSubstr(absl::StrCat(
                        "parallelizer uniform 0 was replaced by version ",
                        VersionOf("uniform"), ": ")),
                    HasSubstr("worker bad"), HasSubstr("no memory")));
  // The next plan begins with the other version.
  ASSERT_OK_AND_ASSIGN(const PlanFile next, Plan("uniform"));
  EXPECT_EQ(Essence(next), LocalEssence(SmallRequest(), "uniform"));
}

TEST_F(HostileWorkersTest, AllParallelizersPlanWithoutTheOneThatFails) {
  Start({.worker_wait_s = 30});
  AddWorker("bad", std::make_unique<BrokenParallelizer>(
                       "zen", "1", absl::InternalError("no memory")));
  EXPECT_THAT(Plan("all"), StatusIs(absl::StatusCode::kInternal,
                                    HasSubstr("adapter zen 1: no memory")));
  AddHonestWorker();
  ASSERT_OK_AND_ASSIGN(PlanFile file, Plan("all"));
  EXPECT_EQ(file.provenance.parallelizer,
            absl::StrCat("uniform ", VersionOf("uniform")));
  ASSERT_FALSE(file.result.notes.empty());
  EXPECT_THAT(file.result.notes.back(),
              AllOf(HasSubstr("parallelizer zen 1 was left out: "),
                    HasSubstr("adapter zen 1: no memory")));
  // Apart from that, it is the plan of the others.
  file.result.notes.pop_back();
  file.result.stats.truncated = false;
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
}

}  // namespace
}  // namespace tangram::testing
