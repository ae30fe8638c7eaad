#include "coordinator/rpc/limit_replies.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include "coordinator/rpc/calls_of_callers.h"

namespace tangram {
namespace {

using grpc::experimental::InterceptionHookPoints;

// The messages of one call, which are sent one after the other. gRPC creates it
// at the start of the call and deletes it at the end.
class SendingCall : public grpc::experimental::Interceptor {
 public:
  SendingCall(UnreadReplies& replies, grpc::experimental::ServerRpcInfo& info)
      : info_(info), reply_(replies) {}

  // gRPC calls it when it takes a message and when the connection has taken it
  // or has ended, so that the call is there for as long as the message counts.
  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      // Every method answers with bytes.
      const auto* message =
          static_cast<const grpc::ByteBuffer*>(methods->GetSendMessage());
      if (message != nullptr && message->Valid()) {
        // Cancelling runs no POST_SEND_MESSAGE on this thread: the threads of
        // gRPC's completion queue do.
        reply_.Hold(static_cast<int64_t>(message->Length()),
                    [this] { info_.server_context()->TryCancel(); });
      }
    }
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_SEND_MESSAGE)) {
      reply_.Drop();
    }
    methods->Proceed();
  }

 private:
  grpc::experimental::ServerRpcInfo& info_;
  UnreadReplies::Reply reply_;
};

class ReplyLimiter
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ReplyLimiter(UnreadReplies& replies) : replies_(replies) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    if (!IsCallOfCaller(*info)) return nullptr;
    return new SendingCall(replies_, *info);
  }

 private:
  UnreadReplies& replies_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateReplyLimiter(UnreadReplies& replies) {
  return std::make_unique<ReplyLimiter>(replies);
}

}  // namespace tangram
