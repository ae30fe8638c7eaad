#include "coordinator/rpc/known_answer_handler.h"

#include <grpcpp/support/message_allocator.h>

#include <utility>

namespace tangram {
namespace {

// The messages of a call with a known answer.
class KnownMessages
    : public grpc::MessageHolder<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Takes over the content of `request`, whose memory belongs to the call.
  KnownMessages(grpc::ByteBuffer* request, grpc::ByteBuffer answer)
      : answer_(std::move(answer)) {
    set_request(request);
    set_response(&answer_);
  }
  void Release() override {
    request()->~ByteBuffer();
    delete this;
  }

 private:
  grpc::ByteBuffer answer_;
};

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer*,
                                    grpc::ByteBuffer*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace

KnownAnswerHandler::KnownAnswerHandler(FindKnown find_known, Start start)
    : find_known_(std::move(find_known)),
      known_(FinishNow),
      others_(std::move(start)) {}

void KnownAnswerHandler::RunHandler(const HandlerParameter& call) {
  auto* const request = static_cast<grpc::ByteBuffer*>(call.request);
  if (!call.status.ok() || request == nullptr) return others_.RunHandler(call);
  const auto& context =
      static_cast<const grpc::CallbackServerContext&>(*call.server_context);
  std::optional<grpc::ByteBuffer> known = find_known_(context, *request);
  if (!known.has_value()) return others_.RunHandler(call);
  known_.RunHandler({call.call, call.server_context, call.request, call.status,
                     new KnownMessages(request, *std::move(known)),
                     call.call_requester});
}

void* KnownAnswerHandler::Deserialize(grpc_call* call,
                                      grpc_byte_buffer* request,
                                      grpc::Status* status, void** data) {
  return others_.Deserialize(call, request, status, data);
}

}  // namespace tangram
