#ifndef TANGRAM_COMMON_TRACE_TRACE_FORMATS_H_
#define TANGRAM_COMMON_TRACE_TRACE_FORMATS_H_

#include <string>

#include "common/trace/trace.h"

// Writes traces for other programs. The text ends in a newline. Bytes that are
// not UTF-8, as errors of adapter programs may hold, become U+FFFD.
namespace tangram {

// Returns an ExportTraceServiceRequest in OTLP's JSON encoding, which
// collectors accept at /v1/traces.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
std::string ToOtlpJson(const Trace& trace);

// Returns the JSON object form of the Trace Event Format, which Perfetto and
// chrome://tracing open. A lane has as many rows as spans overlap in it. Spans
// without a lane are left out.
std::string ToChromeTrace(const Trace& trace);

}  // namespace tangram

#endif  // TANGRAM_COMMON_TRACE_TRACE_FORMATS_H_
