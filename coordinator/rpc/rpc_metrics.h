#ifndef TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_
#define TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "common/metrics/metrics.h"

namespace tangram {

// Measures the rate, errors and duration of calls by method. Leaves out the
// streams of workers. `metrics` must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateCallMeter(Metrics& metrics);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_RPC_METRICS_H_
