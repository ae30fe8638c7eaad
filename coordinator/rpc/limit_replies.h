#ifndef TANGRAM_COORDINATOR_RPC_LIMIT_REPLIES_H_
#define TANGRAM_COORDINATOR_RPC_LIMIT_REPLIES_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "coordinator/rpc/unread_replies.h"

namespace tangram {

// Counts the bytes of messages to callers that their connections have not
// taken, for the calls of IsCallOfCaller; leases of workers are counted
// elsewhere. `replies` must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateReplyLimiter(UnreadReplies& replies);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_LIMIT_REPLIES_H_
