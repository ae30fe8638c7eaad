#ifndef TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_
#define TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_

#include "common/obs/metrics.h"

namespace grpc {
class ServerBuilder;
}  // namespace grpc

namespace tangram {

// Counts and times every call that the server of `builder` takes, but workers'
// streams: rate, errors and duration, by method. `metrics` must outlive the
// server.
void MeasureCalls(grpc::ServerBuilder& builder, Metrics& metrics);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_
