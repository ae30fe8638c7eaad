#ifndef TANGRAM_COMMON_WIRE_TRACE_WIRE_H_
#define TANGRAM_COMMON_WIRE_TRACE_WIRE_H_

#include "common/trace/trace.h"

namespace tangram::v1 {
class Trace;
}  // namespace tangram::v1

namespace tangram {

v1::Trace ToProto(const Trace& trace);
// Accepts any trace, because traces are only displayed.
Trace FromProto(const v1::Trace& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_TRACE_WIRE_H_
