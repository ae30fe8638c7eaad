#ifndef TANGRAM_COMMON_TRACE_TRACE_FORMATS_H_
#define TANGRAM_COMMON_TRACE_TRACE_FORMATS_H_

#include <string>

#include "common/trace/trace.h"

// Traces for other programs, ending in a newline.
namespace tangram {

// An ExportTraceServiceRequest in OTLP's JSON encoding: what collectors take at
// /v1/traces.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
std::string ToOtlpJson(const Trace& trace);

// The JSON object form of the Trace Event Format, which Perfetto and
// chrome://tracing open. A lane is as many rows as spans overlap in it; spans
// without a lane are left out.
std::string ToChromeTrace(const Trace& trace);

}  // namespace tangram

#endif  // TANGRAM_COMMON_TRACE_TRACE_FORMATS_H_
