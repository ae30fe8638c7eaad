#include "common/wire/error_details.h"

#include <google/protobuf/message.h>

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tangram/v1/error_details.pb.h"

namespace tangram {
namespace {

constexpr absl::string_view kPrefix = "type.googleapis.com/google.rpc.";
// Time after which a coordinator that is away may be back, or another serves.
constexpr double kUnavailableDelayS = 1;
// Headers of gRPC have 8 KiB, text and details together.
constexpr size_t kMaxTextBytes = 1000;

std::string UrlOf(absl::string_view name) {
  return absl::StrCat(kPrefix, name);
}

std::string RetryInfoOf(double delay_s) {
  v1::RetryInfo info;
  const double whole_s = std::floor(delay_s);
  info.mutable_retry_delay()->set_seconds(static_cast<int64_t>(whole_s));
  info.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>((delay_s - whole_s) * 1e9));
  return info.SerializeAsString();
}

std::string Text(absl::string_view text) {
  // Fields of messages must be UTF-8, which a cut may break.
  std::string cut(text.substr(0, kMaxTextBytes));
  if (cut.size() == text.size()) return cut;
  while (!cut.empty() && !absl::ascii_isascii(cut.back())) cut.pop_back();
  return cut;
}

void Add(absl::string_view name, std::string bytes, v1::RpcStatus& details) {
  google::protobuf::Any* const any = details.add_details();
  any->set_type_url(UrlOf(name));
  any->set_value(std::move(bytes));
}

}  // namespace

absl::Status WithRetryDelay(absl::Status status, double delay_s) {
  status.SetPayload(UrlOf("RetryInfo"), absl::Cord(RetryInfoOf(delay_s)));
  return status;
}

absl::Status WithResource(absl::Status status, absl::string_view type,
                          absl::string_view name) {
  v1::ResourceInfo info;
  info.set_resource_type(std::string(type));
  info.set_resource_name(Text(name));
  status.SetPayload(UrlOf("ResourceInfo"),
                    absl::Cord(info.SerializeAsString()));
  return status;
}

absl::string_view FieldOf(absl::string_view message) {
  const absl::string_view before =
      message.substr(0, message.find("; expected"));
  size_t begin = 0;
  size_t end = 0;
  while (true) {
    const size_t colon = before.find(": ", begin);
    if (colon == absl::string_view::npos || colon == begin) break;
    const absl::string_view part = before.substr(begin, colon - begin);
    if (absl::StrContains(part, ' ')) break;
    end = colon;
    begin = colon + 2;
  }
  return before.substr(0, end);
}

std::string SerializedDetails(const absl::Status& status) {
  v1::RpcStatus details;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    if (!absl::StartsWith(url, kPrefix)) return;
    Add(url.substr(kPrefix.size()), std::string(payload), details);
  });
  if (absl::IsInvalidArgument(status)) {
    const absl::string_view field = FieldOf(status.message());
    if (!field.empty()) {
      v1::BadRequest bad;
      v1::BadRequest::FieldViolation& violation = *bad.add_field_violations();
      violation.set_field(Text(field));
      violation.set_description(
          Text(status.message().substr(field.size() + 2)));
      Add("BadRequest", bad.SerializeAsString(), details);
    }
  }
  if (absl::IsUnavailable(status) &&
      !status.GetPayload(UrlOf("RetryInfo")).has_value()) {
    Add("RetryInfo", RetryInfoOf(kUnavailableDelayS), details);
  }
  if (details.details().empty()) return "";
  details.set_code(static_cast<int>(status.code()));
  details.set_message(Text(status.message()));
  return details.SerializeAsString();
}

}  // namespace tangram
