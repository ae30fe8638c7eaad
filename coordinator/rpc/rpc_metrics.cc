#include "coordinator/rpc/rpc_metrics.h"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/sync/mutex.h"
#include "coordinator/rpc/calls_of_callers.h"

namespace tangram {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::experimental::InterceptionHookPoints;

// The metrics of a method. Their labels are found once, because a call that is
// answered from the cache takes hardly longer than finding them.
class MethodMetrics {
 public:
  MethodMetrics(const std::string& method, Counter requests,
                DurationHistogram duration, Gauge in_flight)
      : method_(method),
        requests_(requests),
        duration_(duration.Bind({{"method", method}})),
        in_flight_(in_flight.Bind({{"method", method}})) {}

  void OnBegin() { in_flight_.Add(1); }

  void OnEnd(absl::StatusCode code, double seconds) {
    in_flight_.Add(-1);
    duration_.Observe(seconds);
    if (code == absl::StatusCode::kOk) {
      std::call_once(succeeds_once_, [&] { succeeded_ = Bind(code); });
      succeeded_->Add();
    } else {
      Bind(code).Add();
    }
  }

 private:
  BoundCounter Bind(absl::StatusCode code) {
    return requests_.Bind(
        {{"method", method_},
         {"code", absl::AsciiStrToLower(absl::StatusCodeToString(code))}});
  }

  const std::string method_;
  Counter requests_;
  BoundDurations duration_;
  BoundGauge in_flight_;
  // Made by the first success: a method that nobody calls has no series.
  std::once_flag succeeds_once_;
  std::optional<BoundCounter> succeeded_;
};

// Measures one call. gRPC creates it at the start of the call and deletes it at
// the end.
class MeasuredCall : public grpc::experimental::Interceptor {
 public:
  explicit MeasuredCall(MethodMetrics& metrics)
      : metrics_(metrics), began_(Clock::now()) {
    metrics_.OnBegin();
  }

  ~MeasuredCall() override {
    const std::chrono::duration<double> took = Clock::now() - began_;
    metrics_.OnEnd(code_, took.count());
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
  MethodMetrics& metrics_;
  const Clock::time_point began_;
  // A call that ends without a status has lost its client.
  absl::StatusCode code_ = absl::StatusCode::kCancelled;
};

class Factory : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Metrics& metrics)
      : requests_(metrics.AddCounter("tangram_rpc_requests_total",
                                     "Calls that have ended, by status code.")),
        duration_(metrics.AddDurations("tangram_rpc_duration_seconds",
                                       "Duration of calls, by method.")),
        in_flight_(
            metrics.AddGauge("tangram_rpcs_in_flight", "Calls under way.")) {}

  // There are few methods, because only registered services count.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    if (!IsCallOfCaller(*info)) return nullptr;
    return new MeasuredCall(MetricsOf(info->method()));
  }

 private:
  MethodMetrics& MetricsOf(absl::string_view path) {
    const MutexLock lock(mutex_);
    const auto known = methods_.find(std::string(path));
    if (known != methods_.end()) return *known->second;
    const std::string method(
        absl::StripPrefix(absl::StripPrefix(path, "/tangram.v1."), "/"));
    return *methods_
                .emplace(std::string(path),
                         std::make_unique<MethodMetrics>(method, requests_,
                                                         duration_, in_flight_))
                .first->second;
  }

  Counter requests_;
  DurationHistogram duration_;
  Gauge in_flight_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<MethodMetrics>> methods_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CreateCallMeter(Metrics& metrics) {
  return std::make_unique<Factory>(metrics);
}

}  // namespace tangram
