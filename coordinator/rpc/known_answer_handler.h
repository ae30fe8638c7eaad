#ifndef TANGRAM_COORDINATOR_RPC_KNOWN_ANSWER_HANDLER_H_
#define TANGRAM_COORDINATOR_RPC_KNOWN_ANSWER_HANDLER_H_

#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <optional>

namespace tangram {

// Handles the calls of a method that takes one message and returns a stream.
// Returns a known answer as the only message, by the code of gRPC for methods
// that return one: on the wire they are the same. gRPC ends such calls in the
// thread at hand. It ends a call with a stream in another one, whose wake-up
// takes longer than the rest of a known answer. Thread-safe.
//
// gRPC's generated code uses these classes in the same way. They are not part
// of its documented interface.
class KnownAnswerHandler : public grpc::internal::MethodHandler {
 public:
  // Returns a known answer.
  using FindKnown = std::function<std::optional<grpc::ByteBuffer>(
      const grpc::CallbackServerContext&, const grpc::ByteBuffer&)>;
  // Returns the reactor of a call whose answer is not known.
  using Start = std::function<grpc::ServerWriteReactor<grpc::ByteBuffer>*(
      grpc::CallbackServerContext*, const grpc::ByteBuffer*)>;

  KnownAnswerHandler(FindKnown find_known, Start start);

  void RunHandler(const HandlerParameter& call) override;
  void* Deserialize(grpc_call* call, grpc_byte_buffer* request,
                    grpc::Status* status, void** data) override;

 private:
  const FindKnown find_known_;
  grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>
      known_;
  grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer,
                                                 grpc::ByteBuffer>
      others_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_KNOWN_ANSWER_HANDLER_H_
