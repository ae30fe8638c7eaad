#include "tests/testing/service/test_service.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/sim/explain_plan.h"
#include "common/wire/answered_request.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/grpc_status.h"
#include "common/wire/model_wire.h"
#include "common/wire/training_wire.h"
#include "coordinator/planners/registry/planner_registry.h"
#include "tangram/v1/planner_service.grpc.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/planning/planning.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {

TestService::TestService(CoordinatorOptions options) {
  auto server = CoordinatorServer::Start(options, metrics_);
  TANGRAM_CHECK(server.ok());
  server_ = *std::move(server);
}

Worker& TestService::AddWorker(std::unique_ptr<Parallelizer> parallelizer,
                               int num_threads) {
  WorkerOptions options{.num_threads = num_threads};
  options.parallelizers.push_back(std::move(parallelizer));
  return AddWorker(std::move(options));
}

Worker& TestService::AddWorker(WorkerOptions options) {
  if (options.coordinators.empty()) {
    options.coordinators = {{.address = address()}};
  }
  if (options.name.empty()) {
    options.name = absl::StrCat("worker-", workers_.size());
  }
  worker_metrics_.push_back(std::make_unique<Metrics>());
  const int num_before = server_->pool().Counts().workers;
  auto worker = Worker::Start(std::move(options), *worker_metrics_.back());
  TANGRAM_CHECK(worker.ok());
  workers_.push_back(*std::move(worker));
  TANGRAM_CHECK(Eventually(
      [&] { return server_->pool().Counts().workers > num_before; }));
  return *workers_.back();
}

Worker& TestService::AddWorker(const std::string& parallelizer,
                               int num_threads) {
  return AddWorker(*CreateBuiltinParallelizer(parallelizer), num_threads);
}

std::string TestService::address() const {
  return absl::StrCat("127.0.0.1:", server_->port());
}

std::string VersionOf(const std::string& parallelizer) {
  return (*CreateBuiltinParallelizer(parallelizer))->version();
}

PlanRequest SmallRequest() {
  DeviceSpec slow = TestDevice("SLOW");
  slow.peak_flops.fp16 = 40e12;
  return {.cluster = TestCluster(
              {{"fast", 2, 4, TestDevice("FAST")}, {"slow", 2, 4, slow}}),
          .model = TestModel(6),
          .training = TestTraining()};
}

v1::PlanRequest Encode(const PlanRequest& request,
                       const std::string& parallelizer) {
  v1::PlanRequest message;
  *message.mutable_cluster() = ToProto(request.cluster);
  *message.mutable_model() = ToProto(request.model);
  *message.mutable_training() = ToProto(request.training);
  message.set_parallelizer(parallelizer);
  return message;
}

absl::StatusOr<PlanFile> CallPlan(
    const std::string& address, const v1::PlanRequest& request,
    grpc::ClientContext& context,
    const std::function<void(const v1::PlanProgress&)>& on_progress) {
  const auto stub = v1::Planner::NewStub(OpenChannel(address));
  const auto reader = stub->Plan(&context, request);
  std::optional<v1::PlanFile> result;
  v1::PlanUpdate update;
  while (reader->Read(&update)) {
    if (update.has_result()) result = update.result();
    if (update.has_progress() && on_progress) on_progress(update.progress());
  }
  TANGRAM_RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  if (!result.has_value()) return absl::InternalError("no result");
  return FromProto(*result);
}

absl::StatusOr<PlanFile> CallPlan(const std::string& address,
                                  const v1::PlanRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::minutes(2));
  return CallPlan(address, request, context);
}

std::string Essence(PlanFile file) {
  file.provenance = {};
  return *PlanFileToJson(file);
}

std::string LocalEssence(const PlanRequest& request,
                         const std::string& parallelizer,
                         const TangramOptions& options) {
  const absl::StatusOr<PlanResult> result =
      PlanLocally(request, parallelizer, options);
  TANGRAM_CHECK(result.ok());
  PlanFile file{.cluster = request.cluster,
                .model = request.model,
                .training = request.training,
                .planner = kDefaultPlanner,
                .result = *result};
  if (result->plan.has_value()) {
    file.explanation = ExplainPlan(request.model, request.cluster,
                                   *result->plan, result->evaluation);
  }
  SetBand(file);
  return Essence(std::move(file));
}

bool Eventually(const std::function<bool()>& condition) {
  const auto give_up =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace tangram::testing
