#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/print/done_json.h"
#include "cli/print/table.h"
#include "cli/print/worker_text.h"
#include "cli/remote/coordinator_channel.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "tangram/v1/status_service.grpc.pb.h"

namespace tangram {
namespace {

// A coordinator that does not answer within this time counts as gone. A running
// one answers within milliseconds.
constexpr std::chrono::seconds kWorkerCallTimeout(10);

using Stub = v1::Workers::Stub;

// Connects and calls `method` of the stub with a deadline.
template <typename Request, typename Response>
absl::Status Call(const CoordinatorAccess& coordinator, const Request& request,
                  grpc::Status (Stub::*method)(grpc::ClientContext*,
                                               const Request&, Response*),
                  Response& response) {
  TANGRAM_ASSIGN_OR_RETURN(
      const auto channel,
      ConnectToCoordinator(coordinator, StopCondition(std::nullopt)));
  const std::unique_ptr<Stub> stub = v1::Workers::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kWorkerCallTimeout);
  return CallStatus((stub.get()->*method)(&context, request, &response));
}

// Answers a second since it connected, over which a slow one stands out.
std::string RateText(const v1::WorkerStatus& worker) {
  if (worker.away() || worker.connected_s() <= 0) return "";
  return absl::StrFormat(
      "%.1f", static_cast<double>(worker.answered()) / worker.connected_s());
}

void PrintWorkers(const v1::WorkerList& list, Console& console) {
  if (console.format == OutputFormat::kJson) {
    nlohmann::ordered_json workers = nlohmann::ordered_json::array();
    for (const v1::WorkerStatus& worker : list.workers()) {
      workers.push_back(
          {{"worker", worker.name()},
           {"state", WorkerStateText(worker)},
           {"source", worker.source()},
           {"version", worker.version()},
           {"slots", worker.slots()},
           {"answered", worker.answered()},
           {"rejected", worker.rejected()},
           {"adapters", std::vector<std::string>(worker.adapters().begin(),
                                                 worker.adapters().end())},
           {"last_fault", worker.last_fault()}});
    }
    PrintJson({{"format_version", "tangram.workers/v1"}, {"workers", workers}},
              console);
    return;
  }
  Table table({{"worker"},
               {"state"},
               {"source"},
               {"version"},
               {"slots", Table::kRight},
               {"answered", Table::kRight},
               {"per s", Table::kRight},
               {"rejected", Table::kRight},
               {"adapters"},
               {"last fault"}});
  for (const v1::WorkerStatus& worker : list.workers()) {
    table.AddRow({worker.name(), WorkerStateText(worker), worker.source(),
                  worker.version(),
                  worker.away() ? "" : absl::StrCat(worker.slots()),
                  worker.away() ? "" : FormatThousands(worker.answered()),
                  RateText(worker), FormatThousands(worker.rejected()),
                  absl::StrJoin(worker.adapters(), ", "), worker.last_fault()});
  }
  console.out << table.ToString();
  if (list.workers_left_out() > 0) {
    console.out << FormatThousands(list.workers_left_out())
                << " more by name, which the answer has no room for\n";
  }
}

}  // namespace

CommandResult Run(const ListWorkersOptions& options, Console& console) {
  v1::WorkerList list;
  TANGRAM_RETURN_IF_ERROR(Call(options.coordinator, v1::ListWorkersRequest(),
                               &Stub::ListWorkers, list));
  PrintWorkers(list, console);
  return ExitCode::kOk;
}

CommandResult Run(const ReleaseWorkerOptions& options, Console& console) {
  v1::ReleaseWorkerRequest request;
  request.set_name(options.name);
  v1::ReleaseWorkerResponse response;
  TANGRAM_RETURN_IF_ERROR(
      Call(options.coordinator, request, &Stub::ReleaseWorker, response));
  if (console.format == OutputFormat::kJson) {
    PrintDoneAsJson({.done = "released",
                     .what = "worker",
                     .count = 1,
                     .names = {options.name}},
                    console);
    return ExitCode::kOk;
  }
  console.out << options.name << " is asked again\n";
  return ExitCode::kOk;
}

}  // namespace tangram
