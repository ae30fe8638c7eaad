#ifndef TANGRAM_COMMON_TRACE_TRACE_H_
#define TANGRAM_COMMON_TRACE_TRACE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tangram {

using SpanValue = std::variant<std::string, int64_t, double, bool>;

// An activity with a start and an end, perhaps inside another span.
struct Span {
  int64_t id = 0;      // Positive, unique in the trace.
  int64_t parent = 0;  // 0: none.
  std::string name;
  // The worker or other party that did it ("worker-3"). Empty: the spans inside
  // have one each.
  std::string lane;
  // Seconds since the start of the trace.
  double start_s = 0;
  double end_s = 0;
  std::string error;  // Empty: none.
  std::vector<std::pair<std::string, SpanValue>> attributes;
  bool operator==(const Span&) const = default;
};

// The spans of one job.
struct Trace {
  std::string name;  // "job nightly-7".
  int64_t began_unix_ns = 0;
  std::vector<Span> spans;
  int64_t num_dropped = 0;  // Spans that did not fit.
  bool operator==(const Trace&) const = default;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_TRACE_TRACE_H_
