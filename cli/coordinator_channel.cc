#include "cli/coordinator_channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

constexpr std::chrono::seconds kConnectTimeout(5);
// A coordinator whose machine is gone is noticed by the second unanswered ping.
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

std::shared_ptr<grpc::Channel> CreateChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetMaxReceiveMessageSize(-1);  // Plan files of large clusters.
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToCoordinator(
    const std::string& address, const StopCondition& stop) {
  const auto channel = CreateChannel(address);
  const auto give_up = std::chrono::system_clock::now() + kConnectTimeout;
  while (true) {
    const grpc_connectivity_state state =
        channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return channel;
    if (stop.ShouldStop()) return absl::CancelledError("interrupted");
    const auto now = std::chrono::system_clock::now();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || now >= give_up) {
      return absl::UnavailableError(
          absl::StrCat("--coordinator: ", address, " cannot be reached"));
    }
    channel->WaitForStateChange(
        state, now + std::chrono::milliseconds(kPollMilliseconds));
  }
}

}  // namespace tangram
