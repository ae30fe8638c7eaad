#include "coordinator/tracing/plan_tracer.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

constexpr int64_t kRootSpan = 1;  // 0 is no span.
constexpr char kPlannerLane[] = "planner";

// Position of a query in its model and cluster.
struct Place {
  AtomRange atoms;
  int island = -1;
  int pipeline_microbatch_size = 0;
  int trailing_stages = 0;
};

struct PlaceOf {
  const PairContext* context;

  Place operator()(const SliceModelQuery& query) const {
    return {.atoms = {0, query.model.num_layers()}};
  }
  Place operator()(const ConcatenateQuery& query) const {
    return {.atoms = {query.head.atoms.begin, query.tail.atoms.end}};
  }
  Place operator()(const ProfileQuery& query) const {
    return {.atoms = context->slices[query.slice].atoms,
            .island = query.island,
            .pipeline_microbatch_size = query.pipeline_microbatch_size};
  }
  Place operator()(const PairQuery& query) const {
    return {.atoms = context->slices[query.slice].atoms,
            .island = query.island,
            .pipeline_microbatch_size = query.pipeline_microbatch_size,
            .trailing_stages = query.trailing_stages};
  }
};

}  // namespace

PlanTracer::PlanTracer(PlanTracerOptions options)
    : options_(std::move(options)), began_s_(options_.now_s()) {}

void PlanTracer::OnPhase(const std::string& name) {
  const double now_s = options_.now_s();
  const MutexLock lock(mutex_);
  EndPhase(now_s);
  if (phases_.size() == options_.max_phases) {
    ++num_dropped_;
    return;
  }
  phases_.push_back({.name = name, .start_s = now_s});
}

void PlanTracer::OnQuery(const QueryRecord& record) {
  const MutexLock lock(mutex_);
  if (queries_.size() == options_.max_queries) {
    ++num_dropped_;
    return;
  }
  const Place place = std::visit(PlaceOf{record.context}, record.query);
  KeptQuery kept{.phase = static_cast<int64_t>(phases_.size()),
                 .adapter = Intern(record.adapter.name),
                 .kind = KindOf(record.query),
                 .atoms = place.atoms,
                 .island = place.island,
                 .pipeline_microbatch_size = place.pipeline_microbatch_size,
                 .trailing_stages = place.trailing_stages,
                 .is_cached = record.is_cached,
                 .code = record.code,
                 .asked_s = record.asked_s,
                 .ended_s = record.ended_s};
  for (const QueryAttempt& attempt : record.attempts) {
    const bool is_open = attempt.outcome == QueryEvent::kLeased;
    kept.attempts.push_back(
        {.worker = Intern(attempt.worker),
         .leased_s = attempt.leased_s,
         .ended_s = is_open ? record.ended_s : attempt.ended_s,
         .waited_s = attempt.waited_s,
         .search_s = attempt.search_s,
         .outcome = is_open ? QueryEvent::kCancelled : attempt.outcome});
  }
  queries_.push_back(std::move(kept));
}

void PlanTracer::Finish(
    const std::string& error,
    std::vector<std::pair<std::string, SpanValue>> attributes) {
  const double now_s = options_.now_s();
  const MutexLock lock(mutex_);
  EndPhase(now_s);
  ended_s_ = now_s;
  error_ = error;
  attributes_ = std::move(attributes);
}

Trace PlanTracer::ToTrace() const {
  const MutexLock lock(mutex_);
  Trace trace{.name = options_.name,
              .began_unix_ns = options_.began_unix_ns,
              .num_dropped = num_dropped_};
  const double end_s = ended_s_ < 0 ? options_.now_s() : ended_s_;
  trace.spans.push_back({.id = kRootSpan,
                         .name = "plan",
                         .lane = kPlannerLane,
                         .end_s = end_s - began_s_,
                         .error = error_,
                         .attributes = attributes_});
  AddPhases(end_s, trace);
  for (const KeptQuery& query : queries_) AddQuery(query, trace);
  return trace;
}

// Keeps one copy of each string; pointers into the map stay valid.
const std::string* PlanTracer::Intern(const std::string& text) {
  return &strings_.try_emplace(text).first->first;
}

void PlanTracer::EndPhase(double now_s) {
  if (!phases_.empty() && phases_.back().end_s < 0) {
    phases_.back().end_s = now_s;
  }
}

// Phase i becomes the span kRootSpan + 1 + i.
void PlanTracer::AddPhases(double end_s, Trace& trace) const {
  for (const Phase& phase : phases_) {
    trace.spans.push_back(
        {.id = static_cast<int64_t>(trace.spans.size()) + 1,
         .parent = kRootSpan,
         .name = phase.name,
         .lane = kPlannerLane,
         .start_s = phase.start_s - began_s_,
         .end_s = (phase.end_s < 0 ? end_s : phase.end_s) - began_s_});
  }
}

// Adds a span for the query and, in the lanes of the workers, one for each
// attempt. The span of an answer shows the search. Other attempts last as long
// as the worker held the query.
void PlanTracer::AddQuery(const KeptQuery& query, Trace& trace) const {
  Span span{.id = static_cast<int64_t>(trace.spans.size()) + 1,
            .parent = kRootSpan + query.phase,
            .name = query.kind,
            .start_s = query.asked_s - began_s_,
            .end_s = query.ended_s - began_s_};
  span.attributes = {{"adapter", *query.adapter},
                     {"atoms", absl::StrCat("[", query.atoms.begin, ",",
                                            query.atoms.end, ")")},
                     {"cached", query.is_cached}};
  if (query.island >= 0) {
    span.attributes.insert(
        span.attributes.end(),
        {{"island", int64_t{query.island}},
         {"microbatch", int64_t{query.pipeline_microbatch_size}},
         {"trailing_stages", int64_t{query.trailing_stages}}});
  }
  if (query.code != absl::StatusCode::kOk) {
    span.error = absl::StatusCodeToString(query.code);
  }
  if (!query.attempts.empty()) {
    span.attributes.emplace_back(
        "queue_wait_s", query.attempts.front().leased_s - query.asked_s);
    span.attributes.emplace_back("attempts",
                                 static_cast<int64_t>(query.attempts.size()));
  }
  const std::vector<std::pair<std::string, SpanValue>> place = span.attributes;
  const int64_t parent = span.id;
  trace.spans.push_back(std::move(span));
  for (const Attempt& attempt : query.attempts) {
    const bool is_answer = attempt.outcome == QueryEvent::kAnswered ||
                           attempt.outcome == QueryEvent::kFailed;
    Span part{.id = static_cast<int64_t>(trace.spans.size()) + 1,
              .parent = parent,
              .name = query.kind,
              .lane = *attempt.worker,
              .start_s = (is_answer ? attempt.ended_s - attempt.search_s
                                    : attempt.leased_s) -
                         began_s_,
              .end_s = attempt.ended_s - began_s_,
              .attributes = place};
    part.attributes.emplace_back("outcome",
                                 std::string(NameOf(attempt.outcome)));
    part.attributes.emplace_back("leased_s", attempt.leased_s - began_s_);
    part.attributes.emplace_back("worker_wait_s", attempt.waited_s);
    if (!is_answer) part.error = NameOf(attempt.outcome);
    trace.spans.push_back(std::move(part));
  }
}

}  // namespace tangram
