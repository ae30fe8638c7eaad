#include "cli/remote/coordinator_channel.h"

#include <grpc/support/log.h>
#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/grpc_status.h"

namespace tangram {
namespace {

// Short, because people wait. A running coordinator answers within
// milliseconds.
constexpr std::chrono::seconds kConnectTimeout(5);
// A coordinator whose machine is gone is noticed at most 40 s after its last
// answer: one ping every 30 s, answered within 10 s.
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetServiceConfigJSON(kClientServiceConfig);
  arguments.SetMaxReceiveMessageSize(-1);  // Plan files of large clusters.
  return arguments;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToCoordinator(
    const CoordinatorAccess& access, const StopCondition& stop) {
  // Errors are printed once, by this program, and not by gRPC's log as well.
  gpr_set_log_function([](gpr_log_func_args*) {});
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           OpenChannel(access, kAccessOptions, Arguments()));
  const auto give_up = std::chrono::system_clock::now() + kConnectTimeout;
  while (true) {
    const grpc_connectivity_state state =
        channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return channel;
    if (stop.ShouldStop()) return absl::CancelledError("interrupted");
    const auto now = std::chrono::system_clock::now();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || now >= give_up) {
      return absl::UnavailableError(absl::StrCat(
          "--coordinator: ", access.address, " cannot be reached",
          access.tls.ca_file.empty()
              ? ""
              : " or has no certificate for this name that --tls-ca trusts"));
    }
    channel->WaitForStateChange(
        state, now + std::chrono::milliseconds(kPollMilliseconds));
  }
}

absl::Status CallStatus(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::CANCELLED) {
    return FromGrpc(status);
  }
  return absl::UnavailableError("the coordinator ended the call");
}

}  // namespace tangram
