#ifndef TANGRAM_COMMON_WIRE_GRPC_SETTINGS_H_
#define TANGRAM_COMMON_WIRE_GRPC_SETTINGS_H_

#include <cstdint>
#include <memory>
#include <string>

namespace grpc {
class Channel;
class ChannelArguments;
class ServerBuilder;
}  // namespace grpc

// Settings on which both ends of a connection must agree.
namespace tangram {

// Large clusters, contexts and plan files take some megabytes. gRPC's default
// limit is 4 MB.
inline constexpr int kMaxMessageBytes = 64 << 20;

// Pings find a dead peer during a call of any length. Workers and coordinators
// notice sooner by their own messages. A server must be set to tolerate pings,
// or it ends the call with "too many pings". A client sends them a little
// sooner, so that the server, which has thousands of connections, hears enough
// and sends none while the client lives.
inline constexpr int kServerPingIntervalMs = 30'000;
inline constexpr int kClientPingIntervalMs = 27'000;
inline constexpr int kPingTimeoutMs = 10'000;

void ApplySettings(grpc::ServerBuilder& builder);

// Limits the bytes that all connections of the server hold: messages that have
// arrived, also in part, until the service is done with them. Beyond the limit
// gRPC ends calls with kResourceExhausted until the rest has room, whosever
// they are.
void LimitReceivedBytes(grpc::ServerBuilder& builder, int64_t max_bytes);

// Returns settings under which each channel has its own connection.
grpc::ChannelArguments ChannelSettings();

// How clients use a name with several coordinators behind it: calls go to them
// in turn, and to those alone that can be reached. A call that ends with
// kUnavailable before its first answer, because a coordinator is away or shuts
// down, is tried again: every call of the service may be repeated.
// clients/python has the same.
inline constexpr char kClientServiceConfig[] = R"({
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{}],
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.2s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]}}]})";

// Opens a channel to this machine, in plain text and without a token. Does not
// connect yet. Sends no pings: the machine itself tells when the other end
// dies, and a server of other settings, such as an adapter of a user's, would
// end a call of minutes with "too many pings".
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_GRPC_SETTINGS_H_
