#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/fingerprint.h"
#include "common/trace/trace_formats.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// Enumerators of opentelemetry.proto.trace.v1: SpanKind and StatusCode.
constexpr int kSpanKindInternal = 1;
constexpr int kStatusError = 2;

// Returns 16 bytes, in hex, that no other trace has.
std::string TraceIdOf(const Trace& trace) {
  const Fingerprint high =
      Fingerprinter().Add(trace.name).Add(trace.began_unix_ns).Finish();
  const Fingerprint low = Fingerprinter().Add(high).Add(trace.name).Finish();
  return absl::StrFormat("%016x%016x", high, low);
}

std::string SpanIdOf(int64_t id) { return absl::StrFormat("%016x", id); }

// Protobuf's JSON writes 64-bit integers as strings.
struct ToJsonValue {
  Json operator()(const std::string& text) const {
    return {{"stringValue", text}};
  }
  Json operator()(int64_t number) const {
    return {{"intValue", absl::StrCat(number)}};
  }
  Json operator()(double number) const { return {{"doubleValue", number}}; }
  Json operator()(bool is_so) const { return {{"boolValue", is_so}}; }
};

Json Attribute(const std::string& key, const SpanValue& value) {
  return {{"key", key}, {"value", std::visit(ToJsonValue(), value)}};
}

std::string UnixNanos(const Trace& trace, double seconds) {
  return absl::StrCat(trace.began_unix_ns +
                      static_cast<int64_t>(std::llround(1e9 * seconds)));
}

Json ToJson(const Trace& trace, const std::string& trace_id, const Span& span) {
  Json json = {{"traceId", trace_id}, {"spanId", SpanIdOf(span.id)}};
  if (span.parent != 0) json["parentSpanId"] = SpanIdOf(span.parent);
  json["name"] = span.name;
  json["kind"] = kSpanKindInternal;
  json["startTimeUnixNano"] = UnixNanos(trace, span.start_s);
  json["endTimeUnixNano"] = UnixNanos(trace, span.end_s);
  Json attributes = Json::array();
  if (!span.lane.empty()) {
    attributes.push_back(Attribute("tangram.lane", span.lane));
  }
  for (const auto& [key, value] : span.attributes) {
    attributes.push_back(Attribute(absl::StrCat("tangram.", key), value));
  }
  json["attributes"] = std::move(attributes);
  if (!span.error.empty()) {
    json["status"] = {{"code", kStatusError}, {"message", span.error}};
  }
  return json;
}

}  // namespace

std::string ToOtlpJson(const Trace& trace) {
  const std::string trace_id = TraceIdOf(trace);
  Json spans = Json::array();
  for (const Span& span : trace.spans) {
    spans.push_back(ToJson(trace, trace_id, span));
  }
  const Json resource = {
      {"attributes",
       Json::array({Attribute("service.name", std::string("tangram")),
                    Attribute("tangram.trace", trace.name),
                    Attribute("tangram.dropped_spans", trace.num_dropped)})}};
  const Json scope_spans = {{"scope", {{"name", "tangram"}}},
                            {"spans", std::move(spans)}};
  const Json request = {
      {"resourceSpans",
       Json::array({{{"resource", resource},
                     {"scopeSpans", Json::array({scope_spans})}}})}};
  return request.dump(-1, ' ', /*ensure_ascii=*/false,
                      Json::error_handler_t::replace) +
         "\n";
}

}  // namespace tangram
