#include "coordinator/rpc/audit_calls.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/printable_text.h"
#include "coordinator/auth/call_gate.h"

namespace tangram {
namespace {

using google::protobuf::internal::WireFormatLite;
using grpc::experimental::InterceptionHookPoints;

// Names of jobs and workers are shorter.
constexpr size_t kMaxTargetBytes = 256;
// The field stands at the beginning, before a request to plan.
constexpr size_t kBytesSearched = 1 << 12;

// Returns the number of the field that names what a method is about; 0: none.
int TargetField(absl::string_view method) {
  const std::string name =
      absl::StrReplaceAll(absl::StripPrefix(method, "/"), {{"/", "."}});
  const auto* found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          name);
  if (found == nullptr) return 0;
  for (const char* field : {"job_id", "name"}) {
    const auto* target = found->input_type()->FindFieldByName(field);
    if (target != nullptr &&
        target->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
      return target->number();
    }
  }
  return 0;
}

// Returns the first bytes of a message.
std::string Beginning(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!message.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    if (bytes.size() >= kBytesSearched) break;
    bytes.append(reinterpret_cast<const char*>(slice.begin()),
                 std::min(slice.size(), kBytesSearched - bytes.size()));
  }
  return bytes;
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
        call_.target = TargetOf(call_.method, Beginning(*message));
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
    call_.peer = context.peer();
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
    using Type = grpc::experimental::ServerRpcInfo::Type;
    if (info->type() == Type::BIDI_STREAMING ||
        absl::StartsWith(info->method(), "/grpc.health.")) {
      return nullptr;
    }
    return new CallRecord(on_call_, authenticator_, *info);
  }

 private:
  const OnAuditedCall on_call_;
  Authenticator& authenticator_;
};

}  // namespace

std::string TargetOf(absl::string_view method, absl::string_view request) {
  const int field = TargetField(method);
  if (field == 0) return "";
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(request.data()),
      static_cast<int>(request.size()));
  const uint32_t wanted =
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const uint32_t tag = input.ReadTag()) {
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&input, tag)) return "";
      continue;
    }
    uint32_t length = 0;
    std::string text;
    if (!input.ReadVarint32(&length) || length > request.size() ||
        !input.ReadString(&text, static_cast<int>(length))) {
      return "";
    }
    return PrintableText(text, kMaxTargetBytes);
  }
  return "";
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateCallAuditor(OnAuditedCall on_call, Authenticator& authenticator) {
  return std::make_unique<CallAuditor>(std::move(on_call), authenticator);
}

}  // namespace tangram
