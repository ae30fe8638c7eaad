#ifndef TANGRAM_COORDINATOR_RPC_RECEIVED_MESSAGE_H_
#define TANGRAM_COORDINATOR_RPC_RECEIVED_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

// Messages as bytes, which are measured before they are parsed: a few bytes may
// unfold to hundreds in memory.
namespace tangram {

// Limit on a request of a few names and numbers. Far more than any takes, and
// what it unfolds to is less than one large request.
inline constexpr int64_t kMaxSmallRequestBytes = 64 << 10;

// Returns UnfoldedBytes, with the type named in its errors.
absl::StatusOr<int64_t> MeasureMessage(const grpc::ByteBuffer& bytes,
                                       const google::protobuf::Descriptor& type,
                                       int64_t max_bytes);

// Parses without changing the bytes.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes,
                          google::protobuf::Message& message);

// Returns kResourceExhausted, with the name of the type, if a request is larger
// than kMaxSmallRequestBytes.
absl::Status CheckSmall(const grpc::ByteBuffer& bytes, absl::string_view type);

// Parses a request of a few names and numbers, after CheckSmall.
absl::Status ParseSmallRequest(const grpc::ByteBuffer& bytes,
                               google::protobuf::Message& message);

// Serializes a message for gRPC. Fails only beyond 2 GB.
grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_RECEIVED_MESSAGE_H_
