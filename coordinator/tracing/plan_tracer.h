#ifndef TANGRAM_COORDINATOR_TRACING_PLAN_TRACER_H_
#define TANGRAM_COORDINATOR_TRACING_PLAN_TRACER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/planner/cluster_planner.h"
#include "common/sync/mutex.h"
#include "common/trace/trace.h"
#include "coordinator/dispatch/query_log.h"

namespace tangram {

struct PlanTracerOptions {
  std::string name;               // Name of the trace, e.g. "job nightly-7".
  std::function<double()> now_s;  // The clock of the queries.
  int64_t began_unix_ns = 0;      // Time at which the tracer is created.
  // Limits on what is kept. The rest is only counted.
  size_t max_phases = 1000;
  size_t max_queries = 20'000;
};

// Records one plan: its phases, its queries and the workers' attempts at them.
// Thread-safe.
class PlanTracer : public QueryLog {
 public:
  explicit PlanTracer(PlanTracerOptions options);

  double now_s() const { return options_.now_s(); }

  // Records that phase `name` begins, which ends the phase before it.
  void OnPhase(const std::string& name);
  void OnQuery(const QueryRecord& record) override;
  // Records that the plan has ended. `error` is empty if it succeeded.
  void Finish(const std::string& error,
              std::vector<std::pair<std::string, SpanValue>> attributes = {});

  // Returns the trace so far. Open spans end now.
  Trace ToTrace() const;

 private:
  struct Phase {
    std::string name;
    double start_s = 0;
    double end_s = -1;  // Negative: has not ended.
  };
  struct Attempt {
    const std::string* worker = nullptr;
    double leased_s = 0;
    double ended_s = 0;
    double waited_s = 0;
    double search_s = 0;
    QueryEvent outcome = QueryEvent::kLeased;
  };
  // The parts of a QueryRecord to keep, without references to it. Compact,
  // because there may be many.
  struct KeptQuery {
    int64_t phase = 0;
    const std::string* adapter = nullptr;
    const char* kind = nullptr;
    AtomRange atoms;
    int island = -1;  // Negative: the query concerns no island.
    int pipeline_microbatch_size = 0;
    int trailing_stages = 0;
    bool is_cached = false;
    absl::StatusCode code = absl::StatusCode::kOk;
    double asked_s = 0;
    double ended_s = 0;
    std::vector<Attempt> attempts;
  };

  // Returns a stored copy of `text`. There are few different strings.
  const std::string* Intern(const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndPhase(double now_s) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddPhases(double end_s, Trace& trace) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddQuery(const KeptQuery& query, Trace& trace) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PlanTracerOptions options_;
  const double began_s_;

  mutable Mutex mutex_;
  std::map<std::string, int> strings_ ABSL_GUARDED_BY(mutex_);
  std::vector<Phase> phases_ ABSL_GUARDED_BY(mutex_);
  std::vector<KeptQuery> queries_ ABSL_GUARDED_BY(mutex_);
  int64_t num_dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  double ended_s_ ABSL_GUARDED_BY(mutex_) = -1;  // Negative: has not ended.
  std::string error_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, SpanValue>> attributes_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_TRACING_PLAN_TRACER_H_
