#include "common/wire/unfolded_size.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/planner_service.pb.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kNoLimit = int64_t{1} << 40;

absl::StatusOr<int64_t> Measure(const Descriptor& type,
                                const std::string& bytes,
                                int64_t max_bytes = kNoLimit) {
  google::protobuf::io::ArrayInputStream in(bytes.data(),
                                            static_cast<int>(bytes.size()));
  return UnfoldedBytes(type, in, max_bytes);
}

// Returns a message with every field of its type set, lists `count` times.
void Fill(int count, int depth, std::mt19937& rng, Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (depth == 0) continue;
      for (int n = field->is_repeated() ? count : 1; n > 0; --n) {
        Fill(count, depth - 1, rng,
             field->is_repeated()
                 ? *reflection.AddMessage(&message, field)
                 : *reflection.MutableMessage(&message, field));
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const std::string text(rng() % 40, 'x');
      for (int n = field->is_repeated() ? count : 0; n > 0; --n) {
        reflection.AddString(&message, field, text);
      }
      if (!field->is_repeated()) reflection.SetString(&message, field, text);
    } else if (field->is_repeated() &&
               field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
      for (int n = 0; n < count; ++n) {
        reflection.AddInt32(&message, field, static_cast<int32_t>(rng()));
      }
    }
  }
}

template <typename T>
void ExpectBound() {
  std::mt19937 rng(3);
  for (const int count : {1, 2, 5, 9}) {
    T message;
    Fill(count, 5, rng, message);
    T parsed;
    const std::string bytes = message.SerializeAsString();
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    const auto most = Measure(*T::descriptor(), bytes);
    ASSERT_THAT(most, IsOk());
    EXPECT_GE(*most, static_cast<int64_t>(parsed.SpaceUsedLong()));
    EXPECT_LE(*most, 3 * static_cast<int64_t>(parsed.SpaceUsedLong()));
  }
}

TEST(UnfoldedSizeTest, IsALittleMoreThanTheParsedMessage) {
  ExpectBound<v1::PlanRequest>();
  ExpectBound<v1::WorkerMessage>();
  ExpectBound<v1::SubmitJobRequest>();
}

TEST(UnfoldedSizeTest, CountsEmptyElementsAndUnknownFields) {
  std::string answers;
  std::string unknown;
  for (int i = 0; i < 10'000; ++i) {
    answers += std::string("\x12\x00", 2);  // An empty answer.
    unknown += std::string("\x78\x01", 2);  // Field 15.
  }
  for (const std::string& bytes : {answers, unknown}) {
    v1::WorkerMessage parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    const auto most = Measure(*v1::WorkerMessage::descriptor(), bytes);
    ASSERT_THAT(most, IsOk());
    EXPECT_GE(*most, static_cast<int64_t>(parsed.SpaceUsedLong()));
  }
}

// The parser keeps a field of another wire type as an unknown one.
TEST(UnfoldedSizeTest, CountsFieldsOfAnotherWireType) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += std::string("\x08\x01", 2);
  v1::WorkerMessage parsed;  // Field 1 is a message.
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_GE(Measure(*v1::WorkerMessage::descriptor(), bytes).value(),
            static_cast<int64_t>(parsed.SpaceUsedLong()));
}

TEST(UnfoldedSizeTest, RefusesMoreUnknownFieldsThanANewerPeerSends) {
  const auto delimited = [](int bytes) {
    // Field 15, with a length of three bytes.
    return std::string("\x7a") + static_cast<char>(bytes % 128 | 128) +
           static_cast<char>(bytes / 128 % 128 | 128) +
           static_cast<char>(bytes / (128 * 128)) + std::string(bytes, 'x');
  };
  std::string inside = "\x0a\x06";  // A hello with two unknown fields.
  for (int i = 0; i < 2; ++i) inside += "\xf8\x01\x01";
  // Six bytes inside the hello, and four around the text.
  const std::string most = inside + delimited(kMaxUnknownBytes - 10);
  EXPECT_THAT(Measure(*v1::WorkerMessage::descriptor(), most), IsOk());
  EXPECT_THAT(
      Measure(*v1::WorkerMessage::descriptor(), most + "\x78\x01"),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "at least 65538 bytes of fields that this version does not "
               "know; expected at most 65536"));
}

TEST(UnfoldedSizeTest, StopsAtTheLimit) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += std::string("\x12\x00", 2);
  const auto found =
      Measure(*v1::WorkerMessage::descriptor(), bytes, 10'000).value();
  EXPECT_GT(found, 10'000);
  EXPECT_LT(found, 11'000);
}

TEST(UnfoldedSizeTest, RefusesWhatIsNoMessage) {
  for (const std::string& bytes :
       {std::string("\x12"), std::string("\x12\x05\x00", 3),
        std::string("\x0a\x02\x0a\x07", 4), std::string("\x00", 1),
        std::string("\x0b\x0c", 2)}) {  // A group.
    EXPECT_THAT(
        Measure(*v1::WorkerMessage::descriptor(), bytes),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no message")));
  }
}

TEST(UnfoldedSizeTest, DamagedBytesAreMeasuredOrRefused) {
  const google::protobuf::LogSilencer silencer;  // Texts that are not UTF-8.
  std::mt19937 rng(11);
  v1::PlanRequest message;
  Fill(2, 5, rng, message);
  const std::string good = message.SerializeAsString();
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    bytes[rng() % bytes.size()] = static_cast<char>(rng());
    v1::PlanRequest parsed;
    if (!parsed.ParseFromString(bytes)) continue;
    const auto most = Measure(*v1::PlanRequest::descriptor(), bytes);
    // Groups are refused, though the parser takes them.
    if (!most.ok()) continue;
    ASSERT_GE(*most, static_cast<int64_t>(parsed.SpaceUsedLong()));
  }
}

// Adds the types that messages of `type` hold in lists.
void AddElements(const Descriptor& type, std::set<const Descriptor*>& seen) {
  for (int i = 0; i < type.field_count(); ++i) {
    const Descriptor* inner = type.field(i)->message_type();
    if (inner != nullptr && seen.insert(inner).second) {
      AddElements(*inner, seen);
    }
  }
}

TEST(UnfoldedSizeTest, NoByteTakesMoreThanIsSaid) {
  std::set<const Descriptor*> types;
  AddElements(*v1::WorkerMessage::descriptor(), types);
  for (const Descriptor* type : types) {
    const std::string bytes;  // An element has no bytes of its own, and two
                              // around it.
    const int64_t most = Measure(*type, bytes).value() + 2 * sizeof(void*);
    EXPECT_LE(most, 2 * kMostUnfoldedBytesPerByte) << type->full_name();
  }
}

}  // namespace
}  // namespace tangram
