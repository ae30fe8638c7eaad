#include "common/wire/grpc_settings.h"

#include <grpc/compression.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <limits>

namespace tangram {
namespace {

// A handshake that takes longer is tried again.
constexpr int kConnectTimeoutMs = 5'000;
// gRPC's default is two minutes, in which strangers hold 70 KB of TLS for each
// connection.
constexpr int kServerHandshakeMs = 10'000;
// Pauses between attempts to connect: short after a restart, and never so long
// that a worker stays away from a coordinator that has returned. gRPC's default
// grows to two minutes.
constexpr int kMinReconnectMs = 200;
constexpr int kMaxReconnectMs = 5'000;

}  // namespace

void ApplySettings(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             kServerHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kServerPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kServerPingIntervalMs / 2);
  // gRPC would send pings that measure the bandwidth, one after each heartbeat.
  // They cost more than they gain: they speed up only what a server receives,
  // which is small. Large messages go to workers and clients.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A compressed message may unfold to a thousand times its bytes, and gRPC
  // looks at its limits only afterwards. Nobody here compresses.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

void LimitReceivedBytes(grpc::ServerBuilder& builder, int64_t max_bytes) {
  // gRPC counts what it asks for, mostly 8 KiB and a few bytes, and jemalloc
  // rounds that up. This leaves some room for the difference.
  constexpr int64_t kParts = 16;
  grpc::ResourceQuota quota;
  quota.Resize(static_cast<size_t>(max_bytes / kParts * (kParts - 1)));
  builder.SetResourceQuota(quota);
}

grpc::ChannelArguments ChannelSettings() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kClientPingIntervalMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kMinReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  return arguments;
}

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address) {
  grpc::ChannelArguments arguments = ChannelSettings();
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, std::numeric_limits<int>::max());
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace tangram
