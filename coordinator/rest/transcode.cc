#include "coordinator/rest/transcode.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <google/protobuf/wire_format_lite.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/field_error.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/http/http_status.h"
#include "common/wire/error_details.h"
#include "tangram/v1/error_details.pb.h"

namespace tangram {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::json;

// No message has so many fields, nor a map so many keys.
constexpr int kMaxMembers = 1000;
constexpr size_t kMaxErrorBytes = 500;
// The library stops before.
constexpr size_t kMaxDepth = 200;

constexpr absl::string_view kTypes = "type.googleapis.com/";
constexpr absl::string_view kRpcTypes = "type.googleapis.com/google.rpc.";

pb::util::TypeResolver& Resolver() {
  static pb::util::TypeResolver* const resolver =
      pb::util::NewTypeResolverForDescriptorPool(
          "type.googleapis.com", pb::DescriptorPool::generated_pool());
  return *resolver;
}

std::string UrlOfType(const pb::Descriptor& type) {
  return absl::StrCat(kTypes, type.full_name());
}

bool HasMask(const pb::Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->message_type() == pb::FieldMask::descriptor()) {
      return true;
    }
  }
  return false;
}

// The library reads "a(b(c))" as a mask, in memory that grows with the square
// of its length. A \u escape hides the parenthesis from us, not from it.
absl::Status CheckMasks(const pb::Descriptor& type, const std::string& json) {
  if (!HasMask(type) ||
      (!absl::StrContains(json, '(') && !absl::StrContains(json, "\\u0028"))) {
    return absl::OkStatus();
  }
  return FieldError("body", "\"(\"", "masks without parentheses");
}

// The library keeps the members of an object until its end, in some fifteen
// times their bytes. Leaves it to the library to find other faults.
absl::Status CheckMembers(absl::string_view json) {
  std::vector<int> members;  // In each open object and list.
  char quote = 0;            // The library knows ' too. 0: in no string.
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      if (members.size() == kMaxDepth) break;
      members.push_back(0);
    } else if (members.empty()) {
      continue;
    } else if (c == '}' || c == ']') {
      members.pop_back();
    } else if (c == ':' && ++members.back() > kMaxMembers) {
      return FieldError("body", "an object with too many members",
                        absl::StrCat("at most ", kMaxMembers));
    }
  }
  return absl::OkStatus();
}

// Puts the field of an error of the library in front, as ours have it:
// "(a.b): invalid value", "a.b: Cannot find field.", ": Root element must ...".
absl::Status BodyError(const std::string& message) {
  absl::string_view what = message;
  std::string field = "body";
  const size_t end = what.find(": ");
  if (end != absl::string_view::npos) {
    absl::string_view path = what.substr(0, end);
    if (absl::ConsumePrefix(&path, "(")) absl::ConsumeSuffix(&path, ")");
    if (!absl::StrContains(path, ' ')) {
      if (!path.empty()) field = std::string(path);
      what.remove_prefix(end + 2);
    }
  }
  // It quotes what is not UTF-8.
  return absl::InvalidArgumentError(
      PrintableText(absl::StrCat(field, ": ", what), kMaxErrorBytes));
}

// Returns a serialised message of the type.
absl::StatusOr<std::string> FromJson(const pb::Descriptor& type,
                                     const std::string& json) {
  TANGRAM_RETURN_IF_ERROR(CheckMasks(type, json));
  TANGRAM_RETURN_IF_ERROR(CheckMembers(json));
  std::string bytes;
  const auto status =
      pb::util::JsonToBinaryString(&Resolver(), UrlOfType(type), json, &bytes);
  if (status.ok()) return bytes;
  return BodyError(std::string(status.message()));
}

// Returns the bytes of a message with this one field of a message type.
std::string Wrap(const pb::FieldDescriptor& field, const std::string& bytes) {
  std::string wrapped;
  pb::io::StringOutputStream stream(&wrapped);
  pb::io::CodedOutputStream out(&stream);
  out.WriteTag(pb::internal::WireFormatLite::MakeTag(
      field.number(), pb::internal::WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint64(bytes.size());
  out.WriteString(bytes);
  return wrapped;
}

absl::StatusOr<std::string> BodyOf(const HttpRule& rule,
                                   const pb::Descriptor& type,
                                   const ApiRequest& request) {
  if (rule.body.empty() || request.body.empty()) {
    if (request.body.empty()) return "";
    return FieldError("body", absl::StrCat(request.body.size(), " bytes"),
                      "none");
  }
  if (rule.body == "*") return FromJson(type, request.body);
  const pb::FieldDescriptor* field = type.FindFieldByName(rule.body);
  TANGRAM_ASSIGN_OR_RETURN(const std::string bytes,
                           FromJson(*field->message_type(), request.body));
  return Wrap(*field, bytes);
}

template <typename T, typename Set>
absl::Status SetNumber(const std::string& name, const std::string& text,
                       bool (*parse)(absl::string_view, T*), Set set) {
  T value = {};
  if (!parse(text, &value)) {
    return FieldError(name, absl::StrCat("\"", text, "\""), "a number");
  }
  set(value);
  return absl::OkStatus();
}

// Sets a field of one value, or adds one of several.
absl::Status SetField(pb::Message& message, const pb::FieldDescriptor& field,
                      const std::string& name, const std::string& text) {
  const pb::Reflection& set = *message.GetReflection();
  const bool adds = field.is_repeated();
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_STRING:
      adds ? set.AddString(&message, &field, text)
           : set.SetString(&message, &field, text);
      return absl::OkStatus();
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return SetNumber<int32_t>(
          name, text,
          +[](absl::string_view t, int32_t* v) {
            return absl::SimpleAtoi(t, v);
          },
          [&](int32_t v) {
            adds ? set.AddInt32(&message, &field, v)
                 : set.SetInt32(&message, &field, v);
          });
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return SetNumber<int64_t>(
          name, text,
          +[](absl::string_view t, int64_t* v) {
            return absl::SimpleAtoi(t, v);
          },
          [&](int64_t v) {
            adds ? set.AddInt64(&message, &field, v)
                 : set.SetInt64(&message, &field, v);
          });
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return SetNumber<double>(
          name, text,
          +[](absl::string_view t, double* v) {
            return absl::SimpleAtod(t, v);
          },
          [&](double v) {
            adds ? set.AddDouble(&message, &field, v)
                 : set.SetDouble(&message, &field, v);
          });
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") break;
      set.SetBool(&message, &field, text == "true");
      return absl::OkStatus();
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const pb::EnumValueDescriptor* value =
          field.enum_type()->FindValueByName(text);
      if (value == nullptr) break;
      adds ? set.AddEnum(&message, &field, value)
           : set.SetEnum(&message, &field, value);
      return absl::OkStatus();
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      if (field.message_type() == pb::FieldMask::descriptor() && !adds) {
        pb::Message* mask = set.MutableMessage(&message, &field);
        pb::FieldMask paths;
        for (const absl::string_view path :
             absl::StrSplit(text, ',', absl::SkipEmpty())) {
          paths.add_paths(std::string(path));
        }
        mask->MergeFromString(paths.SerializeAsString());
        return absl::OkStatus();
      }
      break;
    default:
      break;
  }
  return FieldError(name, absl::StrCat("\"", text, "\""),
                    "a value of its field");
}

// Finds a field by its name, or by that of JSON, as bodies have them.
const pb::FieldDescriptor* FindField(const pb::Descriptor& type,
                                     const std::string& name) {
  const pb::FieldDescriptor* field = type.FindFieldByName(name);
  return field != nullptr ? field : type.FindFieldByCamelcaseName(name);
}

// Sets the field of a path such as "job.job_id".
absl::Status SetPath(pb::Message& whole, const std::string& path,
                     const std::string& text) {
  pb::Message* message = &whole;
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const pb::FieldDescriptor* field =
        FindField(*message->GetDescriptor(), names[i]);
    if (field == nullptr) {
      return FieldError(
          "query", absl::StrCat("\"", path, "\""),
          absl::StrCat("fields of ", whole.GetDescriptor()->name()));
    }
    if (i + 1 == names.size()) return SetField(*message, *field, path, text);
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE ||
        field->is_repeated()) {
      break;
    }
    message = message->GetReflection()->MutableMessage(message, field);
  }
  return FieldError("query", absl::StrCat("\"", path, "\""),
                    "a field of one value");
}

v1::RpcStatus ReadDetails(absl::string_view bytes) {
  v1::RpcStatus status;
  if (!status.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    status.Clear();
  }
  return status;
}

Json DetailsJson(const v1::RpcStatus& status) {
  Json list = Json::array();
  for (const pb::Any& detail : status.details()) {
    absl::string_view name = detail.type_url();
    if (!absl::ConsumePrefix(&name, kRpcTypes)) continue;
    std::string text;
    const auto read = pb::util::BinaryToJsonString(
        &Resolver(), absl::StrCat(kTypes, "tangram.v1.", name), detail.value(),
        &text);
    if (!read.ok()) continue;
    Json fields = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!fields.is_object()) continue;
    fields["@type"] = detail.type_url();
    list.push_back(std::move(fields));
  }
  return list;
}

// Returns the whole seconds after which the call may be repeated; 0: never, or
// nobody said.
int64_t RetryAfterS(const v1::RpcStatus& status) {
  for (const pb::Any& detail : status.details()) {
    v1::RetryInfo info;
    if (detail.type_url() != absl::StrCat(kRpcTypes, "RetryInfo") ||
        !info.ParseFromString(detail.value())) {
      continue;
    }
    return info.retry_delay().seconds() +
           (info.retry_delay().nanos() > 0 ? 1 : 0);
  }
  return 0;
}

HttpResponse ErrorWith(const absl::Status& status, int http_status,
                       const v1::RpcStatus& details) {
  Json error = {{"code", http_status},
                {"status", absl::StatusCodeToString(status.code())},
                {"message", std::string(status.message())},
                {"details", DetailsJson(details)}};
  HttpResponse response{.status = http_status,
                        .body = Json{{"error", std::move(error)}}.dump(
                            -1, ' ', false, Json::error_handler_t::replace)};
  if (const int64_t after_s = RetryAfterS(details); after_s > 0) {
    response.headers.emplace_back("Retry-After", absl::StrCat(after_s));
  }
  return response;
}

}  // namespace

absl::StatusOr<std::string> RequestOf(const HttpMatch& match,
                                      const ApiRequest& request) {
  const pb::MethodDescriptor* method = MethodOf(*match.rule);
  const pb::Descriptor& type = *method->input_type();
  TANGRAM_ASSIGN_OR_RETURN(std::string bytes,
                           BodyOf(*match.rule, type, request));
  const std::unique_ptr<pb::Message> rest(
      pb::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  for (const auto& [name, value] : request.query) {
    TANGRAM_RETURN_IF_ERROR(SetPath(*rest, name, value));
  }
  if (!match.rule->field.empty()) {
    TANGRAM_RETURN_IF_ERROR(SetPath(*rest, match.rule->field, match.value));
  }
  // The later of two values of a field counts, as in any encoding.
  bytes += rest->SerializeAsString();
  return bytes;
}

absl::StatusOr<std::string> AnswerOf(const HttpRule& rule,
                                     absl::string_view bytes,
                                     const AnswerMask& mask) {
  const pb::Descriptor* type = MethodOf(rule)->output_type();
  std::string part(bytes);
  if (!rule.response_body.empty()) {
    const pb::FieldDescriptor* field =
        type->FindFieldByName(rule.response_body);
    const std::unique_ptr<pb::Message> whole(
        pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
    if (!whole->ParseFromString(part)) {
      return absl::InternalError("the answer cannot be read");
    }
    part =
        whole->GetReflection()->GetMessage(*whole, field).SerializeAsString();
    type = field->message_type();
  }
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  // As plan files have them.
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = pb::util::BinaryToJsonString(
      &Resolver(), UrlOfType(*type), part, &json, options);
  if (status.ok()) return Masked(rule, mask, std::move(json));
  return absl::InternalError("the answer cannot be written as JSON");
}

HttpResponse ErrorResponse(const absl::Status& status,
                           absl::string_view details) {
  return ErrorWith(status, HttpStatusOf(status.code()), ReadDetails(details));
}

HttpResponse ErrorResponse(const absl::Status& status, int http_status) {
  return ErrorWith(status, http_status, ReadDetails(SerializedDetails(status)));
}

}  // namespace tangram
