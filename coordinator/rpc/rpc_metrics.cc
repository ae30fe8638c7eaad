#include "coordinator/rpc/rpc_metrics.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tangram {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::experimental::InterceptionHookPoints;

struct CallMetrics {
  Counter requests;
  DurationHistogram duration;
  Gauge in_flight;
};

// Measures one call. gRPC creates it at the start of the call and deletes it at
// the end.
class MeasuredCall : public grpc::experimental::Interceptor {
 public:
  MeasuredCall(CallMetrics& metrics, std::string method)
      : metrics_(metrics), method_(std::move(method)), began_(Clock::now()) {
    metrics_.in_flight.Add({{"method", method_}}, 1);
  }

  ~MeasuredCall() override {
    const std::chrono::duration<double> took = Clock::now() - began_;
    metrics_.in_flight.Add({{"method", method_}}, -1);
    metrics_.duration.Observe({{"method", method_}}, took.count());
    metrics_.requests.Add(
        {{"method", method_},
         {"code", absl::AsciiStrToLower(absl::StatusCodeToString(code_))}});
  }

  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_STATUS)) {
      code_ =
          static_cast<absl::StatusCode>(methods->GetSendStatus().error_code());
    }
    methods->Proceed();
  }

 private:
  CallMetrics& metrics_;
  const std::string method_;
  const Clock::time_point began_;
  // A call that ends without a status has lost its client.
  absl::StatusCode code_ = absl::StatusCode::kCancelled;
};

class Factory : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Metrics& metrics)
      : metrics_{
            metrics.AddCounter("tangram_rpc_requests_total",
                               "Calls that have ended, by status code."),
            metrics.AddDurations("tangram_rpc_duration_seconds",
                                 "Duration of calls, by method."),
            metrics.AddGauge("tangram_rpcs_in_flight", "Calls under way.")} {}

  // There are few methods, because only registered services count. Workers'
  // streams are left out: they have their own metrics, and would pay for this
  // with every message. So are probes.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    using Type = grpc::experimental::ServerRpcInfo::Type;
    if (info->type() == Type::BIDI_STREAMING) return nullptr;
    absl::string_view method = info->method();
    if (absl::StartsWith(method, "/grpc.health.")) return nullptr;
    method = absl::StripPrefix(method, "/tangram.v1.");
    return new MeasuredCall(metrics_,
                            std::string(absl::StripPrefix(method, "/")));
  }

 private:
  CallMetrics metrics_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateCallMeter(Metrics& metrics) {
  return std::make_unique<Factory>(metrics);
}

}  // namespace tangram
