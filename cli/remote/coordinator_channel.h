#ifndef TANGRAM_CLI_REMOTE_COORDINATOR_CHANNEL_H_
#define TANGRAM_CLI_REMOTE_COORDINATOR_CHANNEL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/planning/plan_monitor.h"
#include "common/security/channel.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace tangram {

// How often whoever waits for a coordinator looks whether to stop.
inline constexpr int kPollMilliseconds = 50;

inline constexpr AccessFlags kAccessOptions = {
    .tls = {.cert_file = "--tls-cert",
            .key_file = "--tls-key",
            .ca_file = "--tls-ca"},
    .token_file = "--token-file",
    .allow_plaintext_token = "--allow-plaintext-token"};

// A channel to the coordinator, connected. kUnavailable if nobody listens there
// or no answer comes in time, kInvalidArgument if a file of `access` is at
// fault, kCancelled if `stop` says so before.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToCoordinator(
    const CoordinatorAccess& access, const StopCondition& stop);

// What a call came to that this side did not cancel. A server that stops
// cancels the calls it still has: that is kUnavailable.
absl::Status CallStatus(const grpc::Status& status);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_COORDINATOR_CHANNEL_H_
