#include "common/wire/trace_wire.h"

#include "tangram/v1/trace.pb.h"

namespace tangram {
namespace {

struct SetValue {
  v1::SpanAttribute& message;

  void operator()(const std::string& text) { message.set_text(text); }
  void operator()(int64_t integer) { message.set_integer(integer); }
  void operator()(double number) { message.set_number(number); }
  void operator()(bool truth) { message.set_truth(truth); }
};

SpanValue ValueOf(const v1::SpanAttribute& message) {
  switch (message.value_case()) {
    case v1::SpanAttribute::kInteger:
      return message.integer();
    case v1::SpanAttribute::kNumber:
      return message.number();
    case v1::SpanAttribute::kTruth:
      return message.truth();
    default:
      return message.text();
  }
}

}  // namespace

v1::Trace ToProto(const Trace& trace) {
  v1::Trace message;
  message.set_name(trace.name);
  message.set_began_unix_ns(trace.began_unix_ns);
  message.set_num_dropped(trace.num_dropped);
  for (const Span& span : trace.spans) {
    v1::Span& encoded = *message.add_spans();
    encoded.set_id(span.id);
    encoded.set_parent(span.parent);
    encoded.set_name(span.name);
    encoded.set_lane(span.lane);
    encoded.set_start_s(span.start_s);
    encoded.set_end_s(span.end_s);
    encoded.set_error(span.error);
    for (const auto& [key, value] : span.attributes) {
      v1::SpanAttribute& attribute = *encoded.add_attributes();
      attribute.set_key(key);
      std::visit(SetValue{attribute}, value);
    }
  }
  return message;
}

Trace FromProto(const v1::Trace& message) {
  Trace trace{.name = message.name(),
              .began_unix_ns = message.began_unix_ns(),
              .num_dropped = message.num_dropped()};
  for (const v1::Span& encoded : message.spans()) {
    Span& span = trace.spans.emplace_back(Span{.id = encoded.id(),
                                               .parent = encoded.parent(),
                                               .name = encoded.name(),
                                               .lane = encoded.lane(),
                                               .start_s = encoded.start_s(),
                                               .end_s = encoded.end_s(),
                                               .error = encoded.error()});
    for (const v1::SpanAttribute& attribute : encoded.attributes()) {
      span.attributes.emplace_back(attribute.key(), ValueOf(attribute));
    }
  }
  return trace;
}

}  // namespace tangram
