#ifndef TANGRAM_COMMON_WIRE_GRPC_SETTINGS_H_
#define TANGRAM_COMMON_WIRE_GRPC_SETTINGS_H_

#include <memory>
#include <string>

namespace grpc {
class Channel;
class ChannelArguments;
class ServerBuilder;
}  // namespace grpc

// What both ends of a connection must agree on.
namespace tangram {

// Large clusters, contexts and plan files are some megabytes; gRPC's default
// limit is 4.
inline constexpr int kMaxMessageBytes = 64 << 20;

// Pings find a dead peer under a call of any length; workers and coordinators
// find each other dead sooner, by what they say. A server must be told to put
// up with pings, or it ends the call with "too many pings".
inline constexpr int kPingIntervalMs = 30'000;
inline constexpr int kPingTimeoutMs = 10'000;

void ApplySettings(grpc::ServerBuilder& builder);

// With them a channel's connection is its own.
grpc::ChannelArguments ChannelSettings();

// For the same machine: in plain text, without a token. Does not connect yet.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_GRPC_SETTINGS_H_
