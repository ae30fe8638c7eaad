#include "common/wire/unfolded_size.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// The allocator adds a header to an object and rounds up.
constexpr int64_t kAllocationBytes = 16;
// Lists double when they are full, so a slot may take its size twice.
constexpr int64_t kPointerBytes = 2 * sizeof(void*);
constexpr int64_t kNumberBytes = 2 * sizeof(int64_t);
// An entry of a map: a node with its key and value, and its place in the table.
constexpr int64_t kMapEntryBytes = 160;
// A field that the type does not know: 16 bytes in a list.
constexpr int64_t kUnknownFieldBytes = 2 * 16;
// Texts up to this length are inside the string.
constexpr int64_t kInlineTextBytes = 15;
// The parser refuses messages that are nested deeper.
constexpr int kMaxMessageDepth = 100;

absl::Status NotAMessage() {
  return absl::InvalidArgumentError("the bytes are no message");
}

int64_t BytesOfText(int64_t length) {
  return static_cast<int64_t>(sizeof(std::string)) + kAllocationBytes +
         (length > kInlineTextBytes ? length + 1 + kAllocationBytes : 0);
}

WireFormatLite::WireType WireTypeOf(const FieldDescriptor& field) {
  return WireFormatLite::WireTypeForFieldType(
      static_cast<WireFormatLite::FieldType>(field.type()));
}

// Returns whether the parser takes the wire type for the field. Otherwise it
// keeps the value as an unknown field.
bool IsTaken(const FieldDescriptor& field, WireFormatLite::WireType type) {
  return type == WireTypeOf(field) ||
         (field.is_packable() &&
          type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// Walks through the fields of one message and those inside it.
class Counter {
 public:
  Counter(CodedInputStream& in, int64_t max_bytes)
      : in_(in), max_bytes_(max_bytes) {}

  int64_t total() const { return total_; }

  // Counts the fields up to the limit of the stream.
  absl::Status CountFields(const Descriptor& type, int depth) {
    if (depth > kMaxMessageDepth) return NotAMessage();
    while (total_ <= max_bytes_) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) {
        return in_.ConsumedEntireMessage() ? absl::OkStatus() : NotAMessage();
      }
      const FieldDescriptor* field =
          type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool is_known =
          field != nullptr &&
          IsTaken(*field, WireFormatLite::GetTagWireType(tag));
      TANGRAM_RETURN_IF_ERROR(
          CountField(tag, is_known ? field : nullptr, depth));
    }
    return absl::OkStatus();
  }

  int64_t BytesOfObject(const Descriptor& type) {
    if (type.options().map_entry()) return kMapEntryBytes;
    const auto [it, is_new] = objects_.try_emplace(&type);
    if (is_new) {
      const Message* message =
          MessageFactory::generated_factory()->GetPrototype(&type);
      it->second =
          kAllocationBytes + static_cast<int64_t>(message->SpaceUsedLong());
    }
    return it->second;
  }

 private:
  // A null field: unknown.
  absl::Status CountField(uint32_t tag, const FieldDescriptor* field,
                          int depth) {
    const WireFormatLite::WireType type = WireFormatLite::GetTagWireType(tag);
    if (type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      return CountDelimited(tag, field, depth);
    }
    // No message has groups. The parser would keep the fields of an unknown
    // one.
    if (type == WireFormatLite::WIRETYPE_START_GROUP) return NotAMessage();
    if (field == nullptr) {
      total_ += kUnknownFieldBytes;
    } else if (field->is_repeated()) {
      total_ += kNumberBytes;
    }
    const int begin = in_.CurrentPosition();
    if (!WireFormatLite::SkipField(&in_, tag)) return NotAMessage();
    if (field != nullptr) return absl::OkStatus();
    return CountUnknown(tag, in_.CurrentPosition() - begin);
  }

  // Counts an unknown field with `bytes` after its tag.
  absl::Status CountUnknown(uint32_t tag, int64_t bytes) {
    unknown_bytes_ += CodedOutputStream::VarintSize32(tag) + bytes;
    if (unknown_bytes_ <= kMaxUnknownBytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "at least ", unknown_bytes_,
        " bytes of fields that this version does not know; expected at most ",
        kMaxUnknownBytes));
  }

  absl::Status CountDelimited(uint32_t tag, const FieldDescriptor* field,
                              int depth) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length) ||
        length > uint32_t{std::numeric_limits<int32_t>::max()}) {
      return NotAMessage();
    }
    if (field == nullptr) {
      total_ += kUnknownFieldBytes + BytesOfText(length);
      TANGRAM_RETURN_IF_ERROR(Skip(length));
      return CountUnknown(
          tag, CodedOutputStream::VarintSize32(length) + int64_t{length});
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        total_ += kPointerBytes + BytesOfObject(*field->message_type());
        return CountInside(*field->message_type(), length, depth);
      case FieldDescriptor::CPPTYPE_STRING:
        total_ += kPointerBytes + BytesOfText(length);
        return Skip(length);
      default:
        return CountPacked(*field, length);
    }
  }

  absl::Status CountInside(const Descriptor& type, uint32_t length, int depth) {
    const CodedInputStream::Limit limit =
        in_.PushLimit(static_cast<int>(length));
    TANGRAM_RETURN_IF_ERROR(CountFields(type, depth + 1));
    if (total_ > max_bytes_) return absl::OkStatus();  // The rest is not read.
    if (in_.BytesUntilLimit() != 0) return NotAMessage();
    in_.PopLimit(limit);
    return absl::OkStatus();
  }

  absl::Status CountPacked(const FieldDescriptor& field, uint32_t length) {
    if (WireTypeOf(field) != WireFormatLite::WIRETYPE_VARINT) {
      total_ += int64_t{2} * length;
      return Skip(length);
    }
    const CodedInputStream::Limit limit =
        in_.PushLimit(static_cast<int>(length));
    const bool is_wide = field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
    const int64_t bytes = is_wide ? kNumberBytes : kNumberBytes / 2;
    while (total_ <= max_bytes_ && in_.BytesUntilLimit() > 0) {
      uint64_t value = 0;
      if (!in_.ReadVarint64(&value)) return NotAMessage();
      total_ += bytes;
    }
    in_.PopLimit(limit);
    return absl::OkStatus();
  }

  absl::Status Skip(uint32_t length) {
    return in_.Skip(static_cast<int>(length)) ? absl::OkStatus()
                                              : NotAMessage();
  }

  CodedInputStream& in_;
  const int64_t max_bytes_;
  int64_t total_ = 0;
  int64_t unknown_bytes_ = 0;
  absl::flat_hash_map<const Descriptor*, int64_t> objects_;
};

}  // namespace

absl::StatusOr<int64_t> UnfoldedBytes(
    const Descriptor& type, google::protobuf::io::ZeroCopyInputStream& bytes,
    int64_t max_bytes) {
  CodedInputStream in(&bytes);
  Counter counter(in, max_bytes);
  TANGRAM_RETURN_IF_ERROR(counter.CountFields(type, 0));
  return counter.total() + counter.BytesOfObject(type);
}

}  // namespace tangram
