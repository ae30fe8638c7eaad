#include "coordinator/tracing/trace_store.h"

namespace tangram {

std::shared_ptr<PlanTracer> TraceStore::Begin(const std::string& id,
                                              PlanTracerOptions options) {
  auto tracer = std::make_shared<PlanTracer>(std::move(options));
  const MutexLock lock(mutex_);
  std::erase_if(traces_, [&](const auto& kept) { return kept.first == id; });
  traces_.emplace_back(id, tracer);
  if (traces_.size() > max_traces_) traces_.pop_front();
  return tracer;
}

std::shared_ptr<const PlanTracer> TraceStore::Find(const std::string& id) {
  const MutexLock lock(mutex_);
  for (const auto& [kept, tracer] : traces_) {
    if (kept == id) return tracer;
  }
  return nullptr;
}

}  // namespace tangram
