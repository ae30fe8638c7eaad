#include <google/protobuf/util/json_util.h>

#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/json_text.h"
#include "common/wire/message_json.h"
#include "common/wire/plan_file.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

namespace json_util = google::protobuf::util;

// Plan files of 1,024 GPUs take some megabytes. A larger file is no plan.
constexpr size_t kMaxFileBytes = 256 << 20;

absl::Status InSource(absl::string_view source_name,
                      const absl::Status& error) {
  return absl::InvalidArgumentError(
      absl::StrCat(source_name, ": ", error.message()));
}

absl::Status Parse(absl::string_view text, bool ignore_unknown_fields,
                   v1::PlanFile& message) {
  json_util::JsonParseOptions options;
  options.ignore_unknown_fields = ignore_unknown_fields;
  const auto status = json_util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message,
      options);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(status.message().as_string());
}

absl::Status CheckIsObject(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text[0] == '{') return absl::OkStatus();
  // A word or a number says what the text is; of more, the first byte does.
  constexpr size_t kShownBytes = 20;
  return FieldError("content",
                    text.size() > kShownBytes
                        ? absl::StrCat(text.substr(0, 1), "...")
                        : std::string(text),
                    absl::StrCat("a JSON object of format ", kPlanFileFormat));
}

absl::StatusOr<PlanFile> FromJson(absl::string_view text) {
  if (text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(text.size(), " bytes; expected at most ", kMaxFileBytes));
  }
  TANGRAM_RETURN_IF_ERROR(CheckJsonSyntax(text));
  TANGRAM_RETURN_IF_ERROR(CheckIsObject(text));
  // Checks the version first, because a newer file may have unknown fields.
  v1::PlanFile lenient;
  TANGRAM_RETURN_IF_ERROR(Parse(text, /*ignore_unknown_fields=*/true, lenient));
  if (lenient.format_version() != kPlanFileFormat) {
    return tangram::FromProto(lenient);
  }
  v1::PlanFile message;
  TANGRAM_RETURN_IF_ERROR(
      Parse(text, /*ignore_unknown_fields=*/false, message));
  return tangram::FromProto(message);
}

// Returns the JSON of `message` on one line. To write default values, protobuf
// builds a tree of the message, with 300 bytes for each number. The links of
// the largest cluster are a million numbers, so their rows are written one by
// one:
//
//   {..."cluster":{..."links":[row 0,row 1,...]...}...}
absl::StatusOr<std::string> CompactJson(v1::PlanFile message) {
  google::protobuf::RepeatedPtrField<v1::LinkRow> rows;
  if (message.has_cluster()) {
    rows.Swap(message.mutable_cluster()->mutable_links());
  }
  TANGRAM_ASSIGN_OR_RETURN(std::string json,
                           MessageToJson(message, DefaultValues::kWrite));
  if (rows.empty()) return json;
  std::string list;
  for (const v1::LinkRow& row : rows) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                             MessageToJson(row, DefaultValues::kWrite));
    absl::StrAppend(&list, list.empty() ? "" : ",", text);
  }
  // Quotes inside texts are escaped, so both are found only as keys.
  constexpr char kCluster[] = "\"cluster\":{";
  constexpr char kNoLinks[] = "\"links\":[]";
  const size_t cluster = json.find(kCluster);
  TANGRAM_CHECK(cluster != std::string::npos);
  const size_t links = json.find(kNoLinks, cluster);
  TANGRAM_CHECK(links != std::string::npos);
  json.insert(links + std::strlen(kNoLinks) - 1, list);
  return json;
}

}  // namespace

absl::StatusOr<std::string> PlanFileToJson(const PlanFile& file) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string compact,
                           CompactJson(ToProto(file)));
  return LayOutJson(compact);
}

absl::StatusOr<PlanFile> PlanFileFromJson(absl::string_view text,
                                          absl::string_view source_name) {
  absl::StatusOr<PlanFile> file = FromJson(text);
  if (!file.ok()) return InSource(source_name, file.status());
  return file;
}

}  // namespace tangram
