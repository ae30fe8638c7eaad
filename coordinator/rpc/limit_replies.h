#ifndef TANGRAM_COORDINATOR_RPC_LIMIT_REPLIES_H_
#define TANGRAM_COORDINATOR_RPC_LIMIT_REPLIES_H_

#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace tangram {

// Limits the bytes of messages to callers that their connections have not taken
// (UnreadReplies), for the calls of IsCallOfCaller; leases of workers are
// counted elsewhere. Calls `on_ended` for each call that it ends, from any
// thread; it must be quick.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateReplyLimiter(int64_t max_bytes, std::function<void()> on_ended);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_LIMIT_REPLIES_H_
