#ifndef TANGRAM_COMMON_METRICS_METRICS_H_
#define TANGRAM_COMMON_METRICS_METRICS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/http/http_server.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace tangram {

using MetricLabels = std::map<std::string, std::string>;

// Metrics with their labels, for places that count often: finding the labels
// takes microseconds.
class BoundCounter {
 public:
  explicit BoundCounter(prometheus::Counter& counter) : counter_(&counter) {}
  void Add(double amount = 1);

 private:
  prometheus::Counter* counter_;
};

class BoundGauge {
 public:
  explicit BoundGauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  void Add(double amount);

 private:
  prometheus::Gauge* gauge_;
};

class BoundDurations {
 public:
  explicit BoundDurations(prometheus::Histogram& histogram)
      : histogram_(&histogram) {}
  void Observe(double seconds);

 private:
  prometheus::Histogram* histogram_;
};

// Handles are cheap to copy and valid as long as the Metrics that made them.
// Labels must be few and bounded: never a value that users choose.
class Counter {
 public:
  explicit Counter(prometheus::Family<prometheus::Counter>& family)
      : family_(&family) {}
  void Add(const MetricLabels& labels, double amount = 1);
  BoundCounter Bind(const MetricLabels& labels);

 private:
  prometheus::Family<prometheus::Counter>* family_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Family<prometheus::Gauge>& family)
      : family_(&family) {}
  void Set(const MetricLabels& labels, double value);
  void Add(const MetricLabels& labels, double amount);
  BoundGauge Bind(const MetricLabels& labels);

 private:
  prometheus::Family<prometheus::Gauge>* family_;
};

// A histogram of durations with buckets from 0.1 ms to 1 h.
class DurationHistogram {
 public:
  explicit DurationHistogram(prometheus::Family<prometheus::Histogram>& family)
      : family_(&family) {}
  void Observe(const MetricLabels& labels, double seconds);
  BoundDurations Bind(const MetricLabels& labels);

 private:
  prometheus::Family<prometheus::Histogram>* family_;
};

// The metrics of a process. Starts with tangram_build_info, and
// process_start_time_seconds and its like, read at each scrape. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  Counter AddCounter(const std::string& name, const std::string& help);
  Gauge AddGauge(const std::string& name, const std::string& help);
  DurationHistogram AddDurations(const std::string& name,
                                 const std::string& help);

  // Serves GET /metrics on `address` as long as this object lives, and returns
  // the port. An address is e.g. "127.0.0.1:9090"; port 0 takes any free one.
  // If `address` is empty, serves nothing and returns 0.
  absl::StatusOr<int> Serve(const std::string& address);

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_METRICS_METRICS_H_
