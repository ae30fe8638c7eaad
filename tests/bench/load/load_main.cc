// The processes of tests/bench/load/measure, which explains their roles.
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/daemon/daemon.h"
#include "common/metrics/metrics.h"
#include "common/obs/termination.h"
#include "common/wire/grpc_settings.h"
#include "coordinator/coordinator_server.h"
#include "echo.grpc.pb.h"
#include "formats/catalogue/models.h"
#include "formats/config/cluster_file.h"
#include "tangram/v1/planner_service.grpc.pb.h"
#include "tests/bench/load/closed_loop.h"
#include "tests/bench/load/idle_streams.h"
#include "tests/testing/builders.h"
#include "tests/testing/canned_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "worker/service/worker.h"

ABSL_FLAG(std::string, address, "", "Address of the server to call.");
ABSL_FLAG(int, clients, 8, "Threads that call.");
ABSL_FLAG(double, seconds, 5, "Seconds to call.");
ABSL_FLAG(std::string, cluster, "", "File of the cluster to plan for.");
ABSL_FLAG(int, request_bytes, 100, "Size of a request to echo.");
ABSL_FLAG(std::string, request_file, "",
          "File to write the request of a call to; empty: none.");
ABSL_FLAG(int, reply_bytes, 100, "Size of its answer.");
ABSL_FLAG(int, workers, 1, "Workers of this process.");
ABSL_FLAG(int, slots, 1, "Queries that a worker runs at once.");
ABSL_FLAG(double, query_s, 0, "Seconds that a worker takes to answer.");
ABSL_FLAG(int, queries, 1000, "Queries of one batch.");
ABSL_FLAG(std::string, state_dir, "",
          "Folder where the coordinator keeps answers; empty: in memory.");

namespace tangram::bench {
namespace {

constexpr char kUsage[] =
    "echo | call_echo | call_plan | workers | idle_streams | slice_queries";

class EchoService : public Echo::CallbackService {
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context,
                                 const EchoRequest* request,
                                 EchoReply* reply) override {
    reply->mutable_payload()->resize(request->reply_bytes(), 'x');
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void SayReady(int port) {
  std::printf("ready port=%d\n", port);
  std::fflush(stdout);
}

void ServeEcho() {
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  SayReady(port);
  WaitForTermination();
  server->Shutdown();
}

// For clients that know no protobuf.
void WriteRequest(const google::protobuf::Message& request) {
  const std::string path = absl::GetFlag(FLAGS_request_file);
  if (path.empty()) return;
  std::ofstream file(path, std::ios::binary);
  TANGRAM_CHECK(request.SerializeToOstream(&file));
}

void CallEcho() {
  EchoRequest request;
  request.set_payload(std::string(absl::GetFlag(FLAGS_request_bytes), 'x'));
  request.set_reply_bytes(absl::GetFlag(FLAGS_reply_bytes));
  WriteRequest(request);
  const auto channel = OpenChannel(absl::GetFlag(FLAGS_address));
  const auto make_caller = [&]() -> std::function<void()> {
    const std::shared_ptr<Echo::Stub> stub = Echo::NewStub(channel);
    return [&request, stub] {
      grpc::ClientContext context;
      EchoReply reply;
      TANGRAM_CHECK(stub->Call(&context, request, &reply).ok());
    };
  };
  std::puts(ToJson(RunClosedLoop(absl::GetFlag(FLAGS_clients),
                                 absl::GetFlag(FLAGS_seconds), make_caller))
                .c_str());
}

v1::PlanRequest BuildRequest() {
  const auto cluster = LoadClusterFile(absl::GetFlag(FLAGS_cluster));
  TANGRAM_CHECK(cluster.ok());
  return testing::Encode(
      {.cluster = *cluster,
       .model = *BuiltinModel("gpt3-6.7b"),
       .training = {.global_batch_size = 128, .sequence_length = 2048}},
      "uniform");
}

// Reads the answer into `update`, whose memory is used again. The result is the
// last message, so what follows it is the status.
void Plan(v1::Planner::Stub& stub, const v1::PlanRequest& request,
          v1::PlanUpdate& update) {
  grpc::ClientContext context;
  const auto reader = stub.Plan(&context, request);
  while (reader->Read(&update) && !update.has_result()) {
  }
  TANGRAM_CHECK(reader->Finish().ok() && update.has_result());
}

void CallPlan() {
  const v1::PlanRequest request = BuildRequest();
  WriteRequest(request);
  const auto channel = OpenChannel(absl::GetFlag(FLAGS_address));
  v1::PlanUpdate first;  // Only this one is planned.
  Plan(*v1::Planner::NewStub(channel), request, first);
  std::printf("request_bytes=%zu reply_bytes=%zu\n", request.ByteSizeLong(),
              first.ByteSizeLong());
  const auto make_caller = [&]() -> std::function<void()> {
    const std::shared_ptr<v1::Planner::Stub> stub =
        v1::Planner::NewStub(channel);
    const auto update = std::make_shared<v1::PlanUpdate>();
    return [&request, stub, update] { Plan(*stub, request, *update); };
  };
  std::puts(ToJson(RunClosedLoop(absl::GetFlag(FLAGS_clients),
                                 absl::GetFlag(FLAGS_seconds), make_caller))
                .c_str());
}

// Sleeps for every query.
class SleepingParallelizer : public testing::CannedParallelizer {
 public:
  explicit SleepingParallelizer(double query_s)
      : CannedParallelizer(
            {.plans = SlicePlanSet{.infeasible =
                                       Infeasible{.reason = "nothing fits"}}}),
        query_s_(query_s) {}

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    if (query_s_ > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(query_s_));
    }
    return CannedParallelizer::Parallelize(slice, island, options);
  }

 private:
  const double query_s_;
};

// Workers with separate connections.
void RunWorkers() {
  std::vector<std::unique_ptr<Metrics>> metrics;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < absl::GetFlag(FLAGS_workers); ++i) {
    WorkerOptions options{
        .coordinators = {{.address = absl::GetFlag(FLAGS_address)}},
        .name = absl::StrCat("worker-", i),
        .num_threads = absl::GetFlag(FLAGS_slots)};
    options.parallelizers.push_back(
        std::make_unique<SleepingParallelizer>(absl::GetFlag(FLAGS_query_s)));
    metrics.push_back(std::make_unique<Metrics>());
    workers.push_back(*Worker::Start(std::move(options), *metrics.back()));
  }
  SayReady(0);
  WaitForTermination();
}

// Asks one batch of queries that were not asked before.
void AskBatch(WorkerPool& pool, int caller, int batch, int num_queries) {
  const auto context = std::make_shared<const QueryContext>(
      PairContext{.training = testing::TestTraining(),
                  .slices = SliceByLayer(testing::TestModel(6)),
                  .islands = {testing::TestIsland(2, 4)}});
  std::vector<Query> queries;
  for (int i = 0; i < num_queries; ++i) {
    queries.push_back(PairQuery{.pipeline_microbatch_size = caller + 1,
                                .trailing_stages = batch,
                                .max_search_steps = i});
  }
  const auto result = pool.Run({"canned", "7"}, context, queries);
  if (!result.ok())
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  TANGRAM_CHECK(result.ok() && result->cache_hits == 0);
}

// Runs a coordinator in this process and asks its pool as planners do.
void AskSliceQueries() {
  Metrics metrics;
  auto server = CoordinatorServer::Start(
      {.state = {.state_dir = absl::GetFlag(FLAGS_state_dir)}}, metrics);
  TANGRAM_CHECK(server.ok());
  WorkerPool& pool = (*server)->pool();
  SayReady((*server)->port());
  while (pool.Counts().workers < absl::GetFlag(FLAGS_workers)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const int batch_size = absl::GetFlag(FLAGS_queries);
  std::atomic<int> num_callers = 0;
  LoopResult result = RunClosedLoop(
      absl::GetFlag(FLAGS_clients), absl::GetFlag(FLAGS_seconds), [&] {
        return [&, caller = num_callers++, batch = 0]() mutable {
          AskBatch(pool, caller, batch++, batch_size);
        };
      });
  result.calls_per_s *= batch_size;
  std::puts(ToJson(result).c_str());
}

int Main(const std::string& part) {
  if (part == "echo") {
    ServeEcho();
  } else if (part == "call_echo") {
    CallEcho();
  } else if (part == "call_plan") {
    CallPlan();
  } else if (part == "workers") {
    RunWorkers();
  } else if (part == "idle_streams") {
    RunIdleStreams(absl::GetFlag(FLAGS_address), absl::GetFlag(FLAGS_workers),
                   [] { SayReady(0); });
  } else if (part == "slice_queries") {
    AskSliceQueries();
  } else {
    std::fprintf(stderr, "usage: load_bench %s\n", kUsage);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  tangram::HoldTerminationSignals();
  tangram::LeaveDeadlocksToTests();
  return tangram::bench::Main(rest.size() == 2 ? rest[1] : "");
}
