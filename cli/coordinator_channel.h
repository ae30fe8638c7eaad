#ifndef TANGRAM_CLI_COORDINATOR_CHANNEL_H_
#define TANGRAM_CLI_COORDINATOR_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/plan_monitor.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace tangram {

// How often whoever waits for a coordinator looks whether to stop.
inline constexpr int kPollMilliseconds = 50;

// A channel to the coordinator at "host:port", connected. kUnavailable if
// nobody listens there or no answer comes in time, kCancelled if `stop` says
// so before.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToCoordinator(
    const std::string& address, const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_COORDINATOR_CHANNEL_H_
