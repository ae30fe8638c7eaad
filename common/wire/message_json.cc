#include "common/wire/message_json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tangram {

absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message, DefaultValues defaults) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = defaults == DefaultValues::kWrite;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (status.ok()) return json;
  return absl::InternalError(
      absl::StrCat(message.GetTypeName(), ": ", status.message().as_string()));
}

}  // namespace tangram
