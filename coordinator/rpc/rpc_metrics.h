#ifndef TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_
#define TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_

#include "common/obs/metrics.h"

namespace grpc {
class ServerBuilder;
}  // namespace grpc

namespace tangram {

// Measures the rate, errors and duration of calls by method, on the server of
// `builder`. Leaves out the streams of workers. `metrics` must outlive the
// server.
void MeasureCalls(grpc::ServerBuilder& builder, Metrics& metrics);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_
