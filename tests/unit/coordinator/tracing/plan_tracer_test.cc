#include "coordinator/tracing/plan_tracer.h"

#include <string>

#include "coordinator/tracing/trace_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

class PlanTracerTest : public ::testing::Test {
 protected:
  PlanTracerOptions Options() {
    return {
        .name = "job a", .now_s = [this] { return now_s_; }, .max_queries = 2};
  }

  void Answer(PlanTracer& tracer, bool is_cached = false) {
    QueryRecord record{.adapter = adapter_,
                       .context = &context_,
                       .query = query_,
                       .is_cached = is_cached,
                       .asked_s = 101,
                       .ended_s = 104};
    if (!is_cached) {
      record.attempts = {{.worker = "w0",
                          .leased_s = 101.5,
                          .ended_s = 102,
                          .outcome = QueryEvent::kLost},
                         {.worker = "w1",
                          .leased_s = 102,
                          .ended_s = 104,
                          .outcome = QueryEvent::kAnswered,
                          .waited_s = 0.5,
                          .search_s = 1}};
    }
    tracer.OnQuery(record);
  }

  double now_s_ = 100;
  const AdapterId adapter_{"mist", "1"};
  const PairContext context_{.slices = {{.atoms = {4, 9}}}};
  const Query query_ = PairQuery{.pipeline_microbatch_size = 2};
};

TEST_F(PlanTracerTest, PhasesFollowOneAnother) {
  PlanTracer tracer(Options());
  tracer.OnPhase("islands");
  now_s_ = 101;
  tracer.OnPhase("composition");
  now_s_ = 103;
  tracer.Finish("");
  now_s_ = 200;
  const Trace trace = tracer.ToTrace();
  ASSERT_THAT(trace.spans, SizeIs(3));
  EXPECT_EQ(trace.spans[0],
            (Span{.id = 1, .name = "plan", .lane = "planner", .end_s = 3}));
  EXPECT_EQ(trace.spans[1], (Span{.id = 2,
                                  .parent = 1,
                                  .name = "islands",
                                  .lane = "planner",
                                  .end_s = 1}));
  EXPECT_EQ(trace.spans[2].start_s, 1);
  EXPECT_EQ(trace.spans[2].end_s, 3);
}

TEST_F(PlanTracerTest, AQueryIsInItsPhaseAndItsAttemptsWithTheirWorkers) {
  PlanTracer tracer(Options());
  tracer.OnPhase("slice_plans");
  Answer(tracer);
  const Trace trace = tracer.ToTrace();
  ASSERT_THAT(trace.spans, SizeIs(5));
  const Span& query = trace.spans[2];
  EXPECT_EQ(query.parent, trace.spans[1].id);
  EXPECT_EQ(query.name, "parallelize");
  EXPECT_EQ(query.lane, "");
  EXPECT_EQ(query.start_s, 1);
  EXPECT_EQ(query.end_s, 4);
  EXPECT_THAT(query.attributes,
              ElementsAre(Pair("adapter", SpanValue(std::string("mist"))),
                          Pair("atoms", SpanValue(std::string("[4,9)"))),
                          Pair("cached", SpanValue(false)),
                          Pair("island", SpanValue(int64_t{0})),
                          Pair("microbatch", SpanValue(int64_t{2})),
                          Pair("trailing_stages", SpanValue(int64_t{0})),
                          Pair("queue_wait_s", SpanValue(0.5)),
                          Pair("attempts", SpanValue(int64_t{2}))));
  const Span& lost = trace.spans[3];
  EXPECT_EQ(lost.lane, "w0");
  EXPECT_EQ(lost.error, "lost");
  EXPECT_EQ(lost.start_s, 1.5);
  EXPECT_EQ(lost.end_s, 2);
  // The search took the last second of the time that the worker held the query.
  const Span& answered = trace.spans[4];
  EXPECT_EQ(answered.lane, "w1");
  EXPECT_EQ(answered.parent, query.id);
  EXPECT_EQ(answered.start_s, 3);
  EXPECT_EQ(answered.end_s, 4);
  EXPECT_EQ(answered.error, "");
}

TEST_F(PlanTracerTest, ACachedQueryHadNoWorker) {
  PlanTracer tracer(Options());
  Answer(tracer, /*is_cached=*/true);
  EXPECT_THAT(tracer.ToTrace().spans, SizeIs(2));
}

TEST_F(PlanTracerTest, KeepsSoManyQueriesAndCountsTheRest) {
  PlanTracer tracer(Options());
  for (int i = 0; i < 5; ++i) Answer(tracer, /*is_cached=*/true);
  EXPECT_THAT(tracer.ToTrace().spans, SizeIs(3));
  EXPECT_EQ(tracer.ToTrace().num_dropped, 3);
}

TEST_F(PlanTracerTest, AStoreForgetsTheOldestAndReplacesEqualIds) {
  TraceStore store(2);
  const auto first = store.Begin("a", 1, Options());
  const auto second = store.Begin("a", 1, Options());
  EXPECT_EQ(store.Find("a", 1), second);
  store.Begin("b", 1, Options());
  store.Begin("c", 1, Options());
  EXPECT_EQ(store.Find("a", 1), nullptr);
  EXPECT_NE(store.Find("b", 1), nullptr);
  EXPECT_EQ(store.Find("d", 1), nullptr);
}

TEST_F(PlanTracerTest, AStoreForgetsDeletedJobs) {
  TraceStore store(2);
  store.Begin("a", 1, Options());
  store.Begin("b", 1, Options());
  store.Drop([](const std::string& id) { return id == "a"; });
  EXPECT_EQ(store.Find("a", 1), nullptr);
  // Another job of the same id was submitted later.
  EXPECT_NE(store.Find("b", 1), nullptr);
  EXPECT_EQ(store.Find("b", 2), nullptr);
}

}  // namespace
}  // namespace tangram
