#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/worker_pool_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Named;
using testing::RecordingWorker;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::ThreadWorker;
using testing::WorkerPoolTest;

TEST_F(WorkerPoolTest, AnAnswerToAnotherQuestionIsTheWorkersFault) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(Named("w1"), worker);
  auto run = RunAside(Queries(1));
  pool_.OnAnswers(id,
                  {{worker.AwaitLeases(1)[0], Answer(PerformanceProfile())}});
  EXPECT_THAT(run.get(),
              StatusIs(absl::StatusCode::kInternal,
                       "worker w1 (tangram 1.2), adapter counting 1: answer: "
                       "profile; expected parallelize"));
  ASSERT_THAT(observer_.rejections, SizeIs(1));
  EXPECT_EQ(observer_.rejections[0].worker.name, "w1");
  EXPECT_EQ(observer_.rejections[0].adapter, "counting");
  EXPECT_EQ(observer_.rejections[0].reason, RejectionReason::kLaw);
  EXPECT_EQ(observer_.events[QueryEvent::kRejected], 1);
}

// An answer that no law allows, and that would crash a planner.
SlicePlanSet WrongAnswer() {
  return {.plans = {{.stages = {{.plan = {.end = {1, 0},
                                          .parallelism = {.dp_degree = 1 << 20},
                                          .recompute = {{.num_layers = 1}}},
                                 .time_s = 1}},
                     .made_by = "counting"}}};
}

class WrongAnswersTest : public WorkerPoolTest {
 protected:
  WrongAnswersTest()
      : WorkerPoolTest({.quarantine = {.max_rejections = 3, .window_s = 100},
                        .worker_wait_s = 1000}) {}

  void AnswerWrongly(WorkerId id, TaskId task) {
    pool_.OnAnswers(id, {{task, Answer(WrongAnswer())}});
  }
  // Makes `name` give a wrong answer to a query that no other worker can
  // answer.
  absl::Status FailOnce(const std::string& name) {
    RecordingWorker worker;
    const WorkerId id = pool_.Connect(Named(name), worker);
    auto run = RunAside(Queries(1));
    AnswerWrongly(id, worker.AwaitLeases(1)[0]);
    const absl::Status status = run.get().status();
    pool_.Disconnect(id);
    return status;
  }
};

// Refusing the first answer frees the worker's slot, and the task of the second
// is leased to it before that answer is looked at.
TEST_F(WrongAnswersTest, AnAnswerToATaskThatIsNotLeasedIsNotTaken) {
  RecordingWorker wrong;
  const WorkerId wrong_id = pool_.Connect(Named("wrong"), wrong);
  auto run = RunAside(Queries(2));
  const TaskId first = wrong.AwaitLeases(1)[0];
  const TaskId second = first + 1;
  pool_.OnAnswers(wrong_id, {{first, Answer(WrongAnswer())},
                             {second, Answer(WrongAnswer())}});
  EXPECT_THAT(run.get(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("worker wrong")));
  EXPECT_EQ(pool_.Counts().cache_entries, 0);
  EXPECT_EQ(observer_.events[QueryEvent::kAnswered], 0);
}

TEST_F(WrongAnswersTest, TheQueryIsAskedAgainElsewhere) {
  RecordingWorker wrong;
  const WorkerId wrong_id = pool_.Connect(Named("wrong"), wrong);
  auto run = RunAside(Queries(1));
  const TaskId task = wrong.AwaitLeases(1)[0];
  RecordingWorker right;
  const WorkerId right_id = pool_.Connect(Named("right"), right);

  AnswerWrongly(wrong_id, task);
  EXPECT_THAT(right.AwaitLeases(1), ElementsAre(task));
  EXPECT_THAT(wrong.AwaitLeases(1), SizeIs(1));  // Never again.
  AnswerWith(right_id, task, 7);

  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(7));
}

TEST_F(WrongAnswersTest, AWorkerThatWasRefusedAQueryIsLeasedOthers) {
  RecordingWorker wrong;
  const WorkerId wrong_id = pool_.Connect(Named("wrong"), wrong);
  auto run = RunAside(Queries(2));
  const TaskId first = wrong.AwaitLeases(1)[0];
  RecordingWorker busy;
  const WorkerId busy_id = pool_.Connect(Named("busy"), busy);
  const TaskId second = busy.AwaitLeases(1)[0];

  AnswerWrongly(wrong_id, first);
  AnswerWith(busy_id, second, 1);
  EXPECT_THAT(busy.AwaitLeases(2), ElementsAre(second, first));
  AnswerWith(busy_id, first, 0);

  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(0, 1));
}

TEST_F(WrongAnswersTest, AQueryThatNobodyElseCanAnswerFailsAtOnce) {
  EXPECT_THAT(FailOnce("w1"),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("worker w1 (tangram 1.2), adapter counting 1: "
                                 "plans[0].stages[0].parallelism.dp_degree: "
                                 "1048576; expected")));
}

TEST_F(WrongAnswersTest, AQueryWhoseLastHopeLeavesFails) {
  RecordingWorker wrong;
  const WorkerId wrong_id = pool_.Connect(Named("wrong", 2), wrong);
  auto run = RunAside(Queries(2));
  const std::vector<TaskId> tasks = wrong.AwaitLeases(2);
  RecordingWorker hope;
  const WorkerId hope_id = pool_.Connect(Named("hope"), hope);
  AnswerWrongly(wrong_id, tasks[0]);
  hope.AwaitLeases(1);

  pool_.Disconnect(hope_id);

  EXPECT_THAT(run.get(), StatusIs(absl::StatusCode::kInternal,
                                  HasSubstr("worker wrong ")));
}

TEST_F(WrongAnswersTest, NothingWrongIsCached) {
  FailOnce("w1").IgnoreError();
  EXPECT_EQ(pool_.Counts().cache_entries, 0);
}

TEST_F(WrongAnswersTest, AWorkerThatGoesOnIsNotAskedAnyMore) {
  for (int i = 0; i < 3; ++i) FailOnce("w1").IgnoreError();
  EXPECT_THAT(observer_.quarantines, ElementsAre("w1 held"));
  EXPECT_EQ(pool_.Counts().quarantined_away, 1);

  // Whatever it does about its connection.
  RecordingWorker again;
  pool_.Connect(Named("w1"), again);
  EXPECT_EQ(pool_.Counts().quarantined, 1);
  EXPECT_THAT(RunAside(Queries(1)).get(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("(1 workers connected, 1 in quarantine for "
                                 "wrong answers: w1)")));
  EXPECT_THAT(pool_.FindAdapter("counting", nullptr),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("w1")));
  EXPECT_THAT(again.AwaitLeases(0), IsEmpty());
}

TEST_F(WrongAnswersTest, AReleasedWorkerIsAskedAgain) {
  for (int i = 0; i < 3; ++i) FailOnce("w1").IgnoreError();
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(Named("w1"), worker);
  ASSERT_THAT(pool_.Workers(), SizeIs(1));
  EXPECT_TRUE(pool_.Workers()[0].quarantined);
  EXPECT_EQ(pool_.Workers()[0].rejected, 3);
  EXPECT_THAT(pool_.Workers()[0].last_fault, HasSubstr("dp_degree: 1048576"));

  EXPECT_TRUE(pool_.ReleaseWorker("w1").ok());

  EXPECT_THAT(observer_.quarantines, ElementsAre("w1 held", "w1 released"));
  auto run = RunAside(Queries(1));
  AnswerWith(id, worker.AwaitLeases(1)[0], 4);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(4));
  EXPECT_THAT(pool_.ReleaseWorker("w1"),
              StatusIs(absl::StatusCode::kNotFound,
                       "worker: \"w1\"; expected one in quarantine"));
}

TEST_F(WrongAnswersTest, LeasesOfAQuarantinedWorkerGoToOthers) {
  RecordingWorker wrong;
  const WorkerId wrong_id = pool_.Connect(Named("wrong", 4), wrong);
  auto run = RunAside(Queries(4));
  const std::vector<TaskId> tasks = wrong.AwaitLeases(4);
  const ThreadWorker heir(pool_, parallelizer_);

  for (int i = 0; i < 3; ++i) AnswerWrongly(wrong_id, tasks[i]);

  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(wrong.cancelled(), ElementsAre(tasks[3]));
}

TEST_F(WrongAnswersTest, AWorkerAwayStaysInTheList) {
  for (int i = 0; i < 3; ++i) FailOnce("w1").IgnoreError();
  const std::vector<PoolWorkerStatus> workers = pool_.Workers();
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].info.name, "w1");
  EXPECT_FALSE(workers[0].connected);
  EXPECT_TRUE(workers[0].quarantined);
}

TEST_F(WrongAnswersTest, ADamagedAnswerToNoQuestionEndsTheConnection) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(Named("w1"), worker);
  auto run = RunAside(Queries(1));
  worker.AwaitLeases(1);
  pool_.OnAnswers(id, {{.task = 12345,
                        .answer = absl::InvalidArgumentError("digest: none"),
                        .rejection = RejectionReason::kDigest}});
  EXPECT_TRUE(worker.is_closed());
  // The query is leased again, and the worker is not blamed for its loss.
  const ThreadWorker heir(pool_, parallelizer_);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(0));
  EXPECT_EQ(observer_.events[QueryEvent::kLost], 0);
}

}  // namespace
}  // namespace tangram
