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

// Interval in ms at which a wait for a coordinator checks whether to stop: a
// cancel ends a command within 1 s.
inline constexpr int kPollMilliseconds = 50;

// Names of the access options, for error messages.
inline constexpr AccessFlags kAccessOptions = {
    .tls = {.cert_file = "--tls-cert",
            .key_file = "--tls-key",
            .ca_file = "--tls-ca"},
    .token_file = "--token-file",
    .allow_plaintext_token = "--allow-plaintext-token"};

// Returns a connected channel to the coordinator. kUnavailable if it does not
// answer within 5 s, kInvalidArgument if a file of `access` is at fault,
// kCancelled if `stop` says so first.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToCoordinator(
    const CoordinatorAccess& access, const StopCondition& stop);

// Returns the status of a call that this side did not cancel. kCancelled
// becomes kUnavailable: a server that stops cancels its open calls.
absl::Status CallStatus(const grpc::Status& status);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_COORDINATOR_CHANNEL_H_
