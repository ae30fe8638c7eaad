#ifndef TANGRAM_COMMON_WIRE_MESSAGE_JSON_H_
#define TANGRAM_COMMON_WIRE_MESSAGE_JSON_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/statusor.h"

namespace tangram {

enum class DefaultValues { kWrite, kLeaveOut };

// Returns a message as Proto3 JSON on one line. Fields have their names in the
// .proto file.
absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message, DefaultValues defaults);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_MESSAGE_JSON_H_
