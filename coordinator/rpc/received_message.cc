#include "coordinator/rpc/received_message.h"

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/unfolded_size.h"

namespace tangram {
namespace {

// Reading does not change the bytes.
grpc::ProtoBufferReader ReaderOf(const grpc::ByteBuffer& bytes) {
  return grpc::ProtoBufferReader(const_cast<grpc::ByteBuffer*>(&bytes));
}

absl::Status NotA(const google::protobuf::Descriptor& type) {
  return absl::InvalidArgumentError(
      absl::StrCat("request: not a ", type.name()));
}

}  // namespace

absl::StatusOr<int64_t> MeasureMessage(const grpc::ByteBuffer& bytes,
                                       const google::protobuf::Descriptor& type,
                                       int64_t max_bytes) {
  grpc::ProtoBufferReader reader = ReaderOf(bytes);
  const absl::StatusOr<int64_t> unfolded =
      UnfoldedBytes(type, reader, max_bytes);
  if (unfolded.ok()) return unfolded;
  if (absl::IsInvalidArgument(unfolded.status())) return NotA(type);
  return absl::Status(
      unfolded.status().code(),
      absl::StrCat(type.name(), ": ", unfolded.status().message()));
}

absl::Status ParseMessage(const grpc::ByteBuffer& bytes,
                          google::protobuf::Message& message) {
  grpc::ProtoBufferReader reader = ReaderOf(bytes);
  if (message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return NotA(*message.GetDescriptor());
}

absl::Status CheckSmall(const grpc::ByteBuffer& bytes, absl::string_view type) {
  if (static_cast<int64_t>(bytes.Length()) <= kMaxSmallRequestBytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(type, ": ", bytes.Length(),
                                                   " bytes; expected at most ",
                                                   kMaxSmallRequestBytes));
}

absl::Status ParseSmallRequest(const grpc::ByteBuffer& bytes,
                               google::protobuf::Message& message) {
  TANGRAM_RETURN_IF_ERROR(CheckSmall(bytes, message.GetDescriptor()->name()));
  return ParseMessage(bytes, message);
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message) {
  grpc::ByteBuffer buffer;
  bool is_owned = false;
  grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(
      message, &buffer, &is_owned);
  return buffer;
}

}  // namespace tangram
