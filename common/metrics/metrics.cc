#include "common/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/metrics/process_metrics.h"
#include "common/obs/build_info.h"

namespace tangram {
namespace {

// Two scrapes at once are enough, and each thread costs memory.
constexpr int kServerThreads = 2;
constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";

const prometheus::Histogram::BucketBoundaries& DurationBuckets() {
  static const auto* buckets = new prometheus::Histogram::BucketBoundaries{
      0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,  0.3,
      1,      3,      10,    30,    100,  300,  1000, 3600};
  return *buckets;
}

using prometheus::MetricFamily;
using prometheus::MetricType;

// A metric without labels, made at a scrape.
MetricFamily Single(const char* name, const char* help, MetricType type,
                    double value) {
  MetricFamily family{.name = name, .help = help, .type = type, .metric = {}};
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return family;
}

std::vector<MetricFamily> ProcessMetrics() {
  const auto figures = ReadProcessFigures();
  if (!figures.has_value()) return {};
  constexpr MetricType kGauge = MetricType::Gauge;
  return {
      Single("process_cpu_seconds_total", "CPU time of the process.",
             MetricType::Counter, figures->cpu_s),
      Single("process_start_time_seconds",
             "When the process started, in seconds since 1970.", kGauge,
             figures->started_s),
      Single("process_resident_memory_bytes", "Memory of the process.", kGauge,
             figures->resident_bytes),
      Single("process_virtual_memory_bytes", "Address space of the process.",
             kGauge, figures->virtual_bytes),
      Single("process_open_fds", "Open file descriptors.", kGauge,
             figures->open_fds),
      Single("process_max_fds", "Limit on open file descriptors.", kGauge,
             figures->max_fds)};
}

// All metrics in Prometheus's text format.
std::string MetricsText(const prometheus::Registry& registry) {
  std::vector<MetricFamily> families = registry.Collect();
  for (MetricFamily& family : ProcessMetrics()) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace

void BoundCounter::Add(double amount) { counter_->Increment(amount); }

void BoundGauge::Add(double amount) { gauge_->Increment(amount); }

void BoundDurations::Observe(double seconds) { histogram_->Observe(seconds); }

BoundCounter Counter::Bind(const MetricLabels& labels) {
  return BoundCounter(family_->Add(labels));
}

BoundGauge Gauge::Bind(const MetricLabels& labels) {
  return BoundGauge(family_->Add(labels));
}

BoundDurations DurationHistogram::Bind(const MetricLabels& labels) {
  return BoundDurations(family_->Add(labels, DurationBuckets()));
}

void Counter::Add(const MetricLabels& labels, double amount) {
  family_->Add(labels).Increment(amount);
}

void Gauge::Set(const MetricLabels& labels, double value) {
  family_->Add(labels).Set(value);
}

void Gauge::Add(const MetricLabels& labels, double amount) {
  family_->Add(labels).Increment(amount);
}

void DurationHistogram::Observe(const MetricLabels& labels, double seconds) {
  family_->Add(labels, DurationBuckets()).Observe(seconds);
}

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  AddGauge("tangram_build_info", "What runs; always 1.")
      .Set({{"version", Version()}}, 1);
}

Metrics::~Metrics() = default;

Counter Metrics::AddCounter(const std::string& name, const std::string& help) {
  return Counter(
      prometheus::BuildCounter().Name(name).Help(help).Register(*registry_));
}

Gauge Metrics::AddGauge(const std::string& name, const std::string& help) {
  return Gauge(
      prometheus::BuildGauge().Name(name).Help(help).Register(*registry_));
}

DurationHistogram Metrics::AddDurations(const std::string& name,
                                        const std::string& help) {
  return DurationHistogram(
      prometheus::BuildHistogram().Name(name).Help(help).Register(*registry_));
}

absl::StatusOr<int> Metrics::Serve(const std::string& address) {
  if (address.empty()) return 0;
  const auto answer = [registry = registry_](const HttpRequest& request) {
    if (request.path != "/metrics") {
      return HttpResponse{.status = 404,
                          .content_type = "text/plain",
                          .body = "expected /metrics\n"};
    }
    return HttpResponse{.content_type = kTextFormat,
                        .body = MetricsText(*registry)};
  };
  auto server = HttpServer::Start(address, kServerThreads, answer);
  if (!server.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "cannot serve metrics on ", address, ": ", server.status().message()));
  }
  server_ = *std::move(server);
  return server_->port();
}

}  // namespace tangram
