#ifndef TANGRAM_COMMON_WIRE_TRACE_WIRE_H_
#define TANGRAM_COMMON_WIRE_TRACE_WIRE_H_

#include "common/trace/trace.h"

namespace tangram::v1 {
class Trace;
}  // namespace tangram::v1

namespace tangram {

v1::Trace ToProto(const Trace& trace);
// Takes whatever it gets: a trace is only looked at.
Trace FromProto(const v1::Trace& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_TRACE_WIRE_H_
