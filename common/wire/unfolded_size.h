#ifndef TANGRAM_COMMON_WIRE_UNFOLDED_SIZE_H_
#define TANGRAM_COMMON_WIRE_UNFOLDED_SIZE_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Descriptor;
namespace io {
class ZeroCopyInputStream;
}  // namespace io
}  // namespace google::protobuf

namespace tangram {

// A byte of a message takes at most this many bytes when it is parsed: an empty
// element of a list has two, and its object up to about 250.
inline constexpr int64_t kMostUnfoldedBytesPerByte = 160;

// Limit on the bytes of fields that a message's type does not have, with those
// of the messages inside it. A newer peer may send a few, and the parser would
// keep all of them.
inline constexpr int64_t kMaxUnknownBytes = 64 << 10;

// Returns an upper bound on the memory that a message takes when it is parsed,
// without parsing it: two bytes may unfold to an object of hundreds. Stops soon
// after the sum exceeds `max_bytes`. Returns kInvalidArgument if the bytes
// cannot be a message, and kResourceExhausted if more than kMaxUnknownBytes are
// of unknown fields.
absl::StatusOr<int64_t> UnfoldedBytes(
    const google::protobuf::Descriptor& type,
    google::protobuf::io::ZeroCopyInputStream& bytes, int64_t max_bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_UNFOLDED_SIZE_H_
