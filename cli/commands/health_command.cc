#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/remote/coordinator_channel.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr char kCheckMethod[] = "/grpc.health.v1.Health/Check";
// The encoding of a HealthCheckResponse with status SERVING: field 1, varint 1.
// It is spelt out because Debian ships no generated code for the protocol.
constexpr char kServing[] = "\x08\x01";

std::string ToString(grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

absl::StatusOr<std::string> CheckHealth(
    const std::shared_ptr<grpc::Channel>& channel, double timeout_s) {
  const grpc::Slice empty_request("", 0);
  const grpc::ByteBuffer request(&empty_request, 1);
  grpc::ClientContext context;
  context.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::milliseconds(static_cast<int64_t>(1000 * timeout_s)));
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  const auto call =
      stub.PrepareUnaryCall(&context, kCheckMethod, request, &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, /*tag=*/nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  TANGRAM_RETURN_IF_ERROR(CallStatus(status));
  return ToString(response);
}

}  // namespace

CommandResult Run(const HealthOptions& options, Console& console) {
  const StopCondition stop(options.timeout_s);
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(options.coordinator, stop));
  TANGRAM_ASSIGN_OR_RETURN(const std::string response,
                           CheckHealth(channel, options.timeout_s));
  if (response != kServing) {
    return absl::UnavailableError(absl::StrCat(
        "--coordinator: ", options.coordinator.address, " does not serve"));
  }
  if (console.format == OutputFormat::kJson) {
    PrintJson({{"format_version", "tangram.health/v1"},
               {"coordinator", options.coordinator.address},
               {"serves", true}},
              console);
    return ExitCode::kOk;
  }
  console.out << options.coordinator.address << " serves\n";
  return ExitCode::kOk;
}

}  // namespace tangram
