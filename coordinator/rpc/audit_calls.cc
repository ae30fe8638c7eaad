#include "coordinator/rpc/audit_calls.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/base/printable_text.h"
#include "common/wire/grpc_settings.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/calls_of_callers.h"

namespace tangram {
namespace {

using google::protobuf::internal::WireFormatLite;
using grpc::experimental::InterceptionHookPoints;

// A field that is longer names nothing, and its end is not copied.
constexpr int kMaxReadBytes = 1024;

// Returns the numbers of the fields that lead to what a method is about; empty:
// none.
std::vector<int> TargetPath(absl::string_view method) {
  const std::string name =
      absl::StrReplaceAll(absl::StripPrefix(method, "/"), {{"/", "."}});
  const auto* found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          name);
  if (found == nullptr) return {};
  for (const char* field : {"job_id", "name", "tenant"}) {
    const auto* target = found->input_type()->FindFieldByName(field);
    if (target != nullptr &&
        target->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
      return {target->number()};
    }
  }
  // A request with changes holds the job itself.
  const auto* job = found->input_type()->FindFieldByName("job");
  if (job == nullptr || job->message_type() == nullptr) return {};
  const auto* target = job->message_type()->FindFieldByName("job_id");
  if (target == nullptr) return {};
  return {job->number(), target->number()};
}

// Sets `text` to the field at the end of the path, up to the limit of `input`.
// A parser takes the last one, so this does too. Passes over all other fields
// without a copy, so that a large request costs little.
bool ReadLast(google::protobuf::io::CodedInputStream& input,
              absl::Span<const int> path, std::string& text) {
  const uint32_t wanted = WireFormatLite::MakeTag(
      path[0], WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const uint32_t tag = input.ReadTag()) {
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&input, tag)) return false;
      continue;
    }
    uint32_t length = 0;
    if (!input.ReadVarint32(&length) || length > kMaxMessageBytes) return false;
    const int size = static_cast<int>(length);
    if (path.size() == 1) {
      const int num_read = std::min(size, kMaxReadBytes);
      if (!input.ReadString(&text, num_read) || !input.Skip(size - num_read)) {
        return false;
      }
      continue;
    }
    const auto limit = input.PushLimit(size);
    if (!ReadLast(input, path.subspan(1), text) ||
        input.BytesUntilLimit() != 0) {
      return false;
    }
    input.PopLimit(limit);
  }
  return input.ConsumedEntireMessage();
}

std::string TargetIn(absl::string_view method,
                     google::protobuf::io::ZeroCopyInputStream& request) {
  const std::vector<int> path = TargetPath(method);
  if (path.empty()) return "";
  google::protobuf::io::CodedInputStream input(&request);
  std::string text;
  if (!ReadLast(input, path, text)) return "";
  return PrintableText(text, kMaxTargetBytes);
}

// Records one call. gRPC creates it at the start of the call and deletes it at
// the end.
class CallRecord : public grpc::experimental::Interceptor {
 public:
  CallRecord(const OnAuditedCall& on_call, Authenticator& authenticator,
             grpc::experimental::ServerRpcInfo& info)
      : on_call_(on_call), authenticator_(authenticator), info_(info) {
    call_.method = info.method();
  }

  ~CallRecord() override { on_call_(call_); }

  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_RECV_INITIAL_METADATA) ||
        methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_RECV_MESSAGE)) {
      NoteCaller();
    }
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_RECV_MESSAGE)) {
      // Every method takes its request as bytes.
      const auto* message =
          static_cast<const grpc::ByteBuffer*>(methods->GetRecvMessage());
      if (message != nullptr && message->Valid()) {
        // Reading does not change the bytes.
        grpc::ProtoBufferReader bytes(const_cast<grpc::ByteBuffer*>(message));
        call_.target = TargetIn(call_.method, bytes);
      }
    }
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_STATUS)) {
      call_.code = absl::AsciiStrToLower(
          absl::StatusCodeToString(static_cast<absl::StatusCode>(
              methods->GetSendStatus().error_code())));
    }
    methods->Proceed();
  }

 private:
  void NoteCaller() {
    if (!call_.peer.empty()) return;
    const grpc::ServerContextBase& context = *info_.server_context();
    call_.peer = PeerOf(context);
    const absl::StatusOr<Caller> caller = CallerOf(authenticator_, context);
    if (!caller.ok()) return;
    call_.caller = PrincipalOf(*caller, context);
    call_.tenant = caller->tenant;
  }

  const OnAuditedCall& on_call_;
  Authenticator& authenticator_;
  grpc::experimental::ServerRpcInfo& info_;
  // A call that ends without a status has lost its client.
  AuditedCall call_{.code = "cancelled"};
};

class CallAuditor
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  CallAuditor(OnAuditedCall on_call, Authenticator& authenticator)
      : on_call_(std::move(on_call)), authenticator_(authenticator) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    if (!IsCallOfCaller(*info)) return nullptr;
    return new CallRecord(on_call_, authenticator_, *info);
  }

 private:
  const OnAuditedCall on_call_;
  Authenticator& authenticator_;
};

}  // namespace

std::string TargetOf(absl::string_view method, absl::string_view request) {
  google::protobuf::io::ArrayInputStream bytes(
      request.data(), static_cast<int>(request.size()));
  return TargetIn(method, bytes);
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateCallAuditor(OnAuditedCall on_call, Authenticator& authenticator) {
  return std::make_unique<CallAuditor>(std::move(on_call), authenticator);
}

}  // namespace tangram
