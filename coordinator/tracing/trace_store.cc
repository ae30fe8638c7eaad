#include "coordinator/tracing/trace_store.h"

#include <utility>

namespace tangram {

std::shared_ptr<PlanTracer> TraceStore::Begin(const std::string& id,
                                              double submitted_s,
                                              PlanTracerOptions options) {
  auto tracer = std::make_shared<PlanTracer>(std::move(options));
  const MutexLock lock(mutex_);
  std::erase_if(traces_, [&](const Kept& kept) { return kept.id == id; });
  traces_.push_back({.id = id, .submitted_s = submitted_s, .tracer = tracer});
  if (traces_.size() > max_traces_) traces_.pop_front();
  return tracer;
}

std::shared_ptr<const PlanTracer> TraceStore::Find(const std::string& id,
                                                   double submitted_s) {
  const MutexLock lock(mutex_);
  for (const Kept& kept : traces_) {
    if (kept.id == id && kept.submitted_s == submitted_s) return kept.tracer;
  }
  return nullptr;
}

void TraceStore::Drop(
    const std::function<bool(const std::string& id)>& is_deleted) {
  const MutexLock lock(mutex_);
  std::erase_if(traces_, [&](const Kept& kept) { return is_deleted(kept.id); });
}

}  // namespace tangram
