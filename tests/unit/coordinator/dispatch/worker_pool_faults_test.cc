#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/worker_pool_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kCounting;
using testing::Named;
using testing::RecordingWorker;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::ThreadWorker;
using ::testing::UnorderedElementsAreArray;
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
  EXPECT_EQ(observer_.rejections[0].worker.host, "host-of-w1");
  EXPECT_EQ(observer_.rejections[0].name, "w1");
  EXPECT_EQ(observer_.rejections[0].version, "1.2");
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
  void AnswerWithError(WorkerId id, TaskId task, const absl::Status& error) {
    pool_.OnAnswers(id, {{task, error}});
  }
  void AnswerDamaged(WorkerId id, TaskId task) {
    pool_.OnAnswers(id, {{.task = task,
                          .answer = absl::InvalidArgumentError("digest: none"),
                          .rejection = RejectionReason::kDigest}});
  }
  // Makes the worker give a wrong answer to a query that no other worker can
  // answer.
  absl::Status FailOnce(const WorkerInfo& info) {
    RecordingWorker worker;
    const WorkerId id = pool_.Connect(info, worker);
    auto run = RunAside(Queries(1));
    AnswerWrongly(id, worker.AwaitLeases(1)[0]);
    absl::Status status = run.get().status();
    pool_.Disconnect(id);
    return status;
  }
  absl::Status FailOnce(const std::string& name) {
    return FailOnce(Named(name));
  }
  // For waiting calls that poll it: lets time pass.
  std::function<bool()> LettingTimePass() {
    return [this] {
      now_s_ = now_s_ + 100;
      return false;
    };
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
                                 "plans[0].stages[0].plan.parallelism.dp_"
                                 "degree: 1048576; expected")));
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
  EXPECT_THAT(
      pool_.Run(kCounting, context_, Queries(1),
                {.should_stop = LettingTimePass()}),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("(1 workers connected, 1 in quarantine: w1)")));
  EXPECT_THAT(pool_.FindAdapter("counting", LettingTimePass()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("w1")));
  EXPECT_THAT(again.AwaitLeases(0), IsEmpty());
}

// Its presence must not take from others the time that they have to dial in.
TEST_F(WrongAnswersTest, AWorkerInQuarantineDoesNotEndTheWaitForOthers) {
  for (int i = 0; i < 3; ++i) FailOnce("w1").IgnoreError();
  RecordingWorker parked;
  pool_.Connect(Named("w1"), parked);
  auto found = std::async(std::launch::async, [this] {
    return pool_.FindAdapter("counting", nullptr);
  });
  auto run = RunAside(Queries(1));
  EXPECT_EQ(run.wait_for(std::chrono::milliseconds(100)),
            std::future_status::timeout);
  const ThreadWorker honest(pool_, parallelizer_);
  EXPECT_EQ(found.get()->id, kCounting);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(0));
}

TEST_F(WrongAnswersTest, AnotherNameOrVersionDoesNotEvadeTheQuarantine) {
  WorkerInfo info = Named("w1");
  for (const char* name : {"w1", "w2", "w3"}) {
    info.name = name;
    info.version = name;
    FailOnce(info).IgnoreError();
  }
  EXPECT_THAT(observer_.quarantines, ElementsAre("w3 held"));
  info.name = "w4";
  info.version = "9.9";
  RecordingWorker again;
  pool_.Connect(info, again);
  EXPECT_EQ(pool_.Counts().quarantined, 1);
}

TEST_F(WrongAnswersTest, AWorkerCannotBringAnotherIntoQuarantine) {
  RecordingWorker honest;
  pool_.Connect(Named("w1"), honest);
  WorkerInfo framing = Named("w1");
  framing.identity.host = "elsewhere";
  framing.adapters = {{.id = {"framed", "1"}}};
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(framing, worker);
  for (size_t i = 0; i < 3; ++i) {
    auto run = std::async(std::launch::async, [this, i] {
      return pool_.Run({"framed", "1"}, context_,
                       Queries(1, static_cast<int>(i)));
    });
    AnswerWrongly(id, worker.AwaitLeases(i + 1)[i]);
    run.get().IgnoreError();
  }
  const WorkerPoolCounts counts = pool_.Counts();
  EXPECT_EQ(counts.quarantined, 1);
  EXPECT_EQ(counts.workers, 2);
  // A release by name is for the workers in quarantine of that name. By
  // identity, it is for one.
  EXPECT_THAT(pool_.ReleaseWorker("host-of-w1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("host-of-w1")));
  EXPECT_TRUE(pool_.ReleaseWorker("elsewhere").ok());
}

TEST_F(WrongAnswersTest, ConnectionsOfOneWorkerCountOnce) {
  std::vector<RecordingWorker> bad(3);
  std::vector<WorkerId> ids;
  for (RecordingWorker& worker : bad) {
    ids.push_back(pool_.Connect(Named("bad"), worker));
  }
  RecordingWorker busy;
  const WorkerId busy_id = pool_.Connect(Named("busy"), busy);
  auto run = RunAside(Queries(4));
  const TaskId busy_with = busy.AwaitLeases(1)[0];
  // All three connections reject one query, while the honest worker is busy.
  const TaskId task = bad[0].AwaitLeases(1)[0];
  for (int i = 1; i < 3; ++i) {
    AnswerWith(ids[i], bad[i].AwaitLeases(1)[0], 0);
  }
  AnswerWithError(ids[0], task, absl::InternalError("crash"));
  for (int i = 1; i < 3; ++i) {
    ASSERT_THAT(bad[i].AwaitLeases(2)[1], task);
    AnswerWithError(ids[i], task, absl::InternalError("crash"));
  }
  // A new connection of the worker does not get it either.
  RecordingWorker redialed;
  pool_.Connect(Named("bad"), redialed);
  EXPECT_THAT(redialed.AwaitLeases(0), IsEmpty());

  AnswerWith(busy_id, busy_with, 0);
  ASSERT_THAT(busy.AwaitLeases(2)[1], task);
  AnswerWith(busy_id, task, 0);
  EXPECT_THAT(run.get(), IsOk());
}

class ThreeLiarsTest : public WrongAnswersTest {
 protected:
  // A good worker is busy with one query, and three others fail the next one.
  void SetUp() override {
    good_id_ = pool_.Connect(Named("good"), good_);
    earlier_ = RunAside(Queries(1));
    good_.AwaitLeases(1);
    disputed_ = RunAside(Queries(1, 1));
    for (int i = 0; i < 3; ++i) {
      bad_ids_.push_back(pool_.Connect(Named(absl::StrCat("bad", i)), bad_[i]));
      const TaskId task = bad_[i].AwaitLeases(1)[0];
      if (i == 1) {
        AnswerWrongly(bad_ids_[i], task);
      } else {
        AnswerWithError(bad_ids_[i], task, absl::InternalError("crash"));
      }
    }
  }
  void PassTo(double now_s) {
    now_s_ = now_s;
    pool_.Heard(good_id_);
    for (const WorkerId id : bad_ids_) pool_.Heard(id);
    pool_.Tick();
  }

  RecordingWorker good_;
  RecordingWorker bad_[3];
  WorkerId good_id_ = 0;
  std::vector<WorkerId> bad_ids_;
  std::future<absl::StatusOr<WorkerPool::BatchResult>> earlier_;
  std::future<absl::StatusOr<WorkerPool::BatchResult>> disputed_;
};

TEST_F(ThreeLiarsTest, DoNotFailAQueryThatABusyWorkerCanAnswer) {
  AnswerWith(good_id_, good_.AwaitLeases(1)[0], 0);
  EXPECT_THAT(earlier_.get(), IsOk());
  AnswerWith(good_id_, good_.AwaitLeases(2)[1], 1);
  EXPECT_THAT(StepsOf(*disputed_.get()), ElementsAre(1));
}

TEST_F(ThreeLiarsTest, FailAQueryIfAllOthersAreSilent) {
  PassTo(59);
  EXPECT_EQ(pool_.Counts().pending, 1);
  PassTo(61);
  EXPECT_THAT(disputed_.get(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("worker bad2")));
  AnswerWith(good_id_, good_.AwaitLeases(1)[0], 0);
  EXPECT_THAT(earlier_.get(), IsOk());
}

TEST_F(WrongAnswersTest, AnErrorThatIsNoAnswerIsAskedAgainElsewhere) {
  const std::vector<absl::Status> errors = {
      absl::InternalError("the program died"),
      absl::UnavailableError("no memory"), absl::CancelledError("stopped"),
      absl::DeadlineExceededError("too slow"), absl::UnknownError("?")};
  for (size_t i = 0; i < errors.size(); ++i) {
    const std::string name = absl::StrCat("broken", i);
    RecordingWorker broken;
    const WorkerId broken_id = pool_.Connect(Named(name), broken);
    auto run = RunAside(Queries(1, static_cast<int>(i)));
    const TaskId task = broken.AwaitLeases(1)[0];
    RecordingWorker right;
    const WorkerId right_id = pool_.Connect(Named("right"), right);
    AnswerWithError(broken_id, task, errors[i]);
    EXPECT_THAT(right.AwaitLeases(1), ElementsAre(task));
    AnswerWith(right_id, task, 7);
    EXPECT_THAT(StepsOf(*run.get()), ElementsAre(7)) << errors[i];
    EXPECT_EQ(observer_.rejections.back().name, name);
    EXPECT_EQ(observer_.rejections.back().reason, RejectionReason::kError);
    pool_.Disconnect(broken_id);
    pool_.Disconnect(right_id);
  }
}

// A question that no worker can answer must not stop all of them.
TEST_F(WrongAnswersTest, ErrorsThatEveryWorkerMakesLeadToNoQuarantine) {
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(Named("w1"), worker);
  for (int i = 0; i < 10; ++i) {
    auto run = RunAside(Queries(1, i));
    AnswerWithError(id, worker.AwaitLeases(i + 1)[i],
                    absl::InternalError("too slow"));
    EXPECT_THAT(run.get(),
                StatusIs(absl::StatusCode::kInternal,
                         "worker w1 (tangram 1.2), adapter counting 1: too "
                         "slow"));
  }
  EXPECT_THAT(observer_.rejections, SizeIs(10));
  EXPECT_THAT(observer_.quarantines, IsEmpty());
  // Yet people see them.
  EXPECT_THAT(pool_.Workers()[0].last_fault, HasSubstr("too slow"));
  EXPECT_EQ(pool_.Workers()[0].rejected, 0);
}

// Its bytes were damaged on the way, but it was no answer to anything.
TEST_F(WrongAnswersTest, AFaultOfAWorkerThatHeldNothingIsShown) {
  RecordingWorker worker;
  AnswerDamaged(pool_.Connect(Named("w1"), worker), 7);
  RecordingWorker again;
  pool_.Connect(Named("w1"), again);
  ASSERT_THAT(pool_.Workers(), SizeIs(1));
  EXPECT_THAT(pool_.Workers()[0].last_fault, HasSubstr("digest: none"));
  EXPECT_EQ(pool_.Workers()[0].rejected, 0);
}

TEST_F(WrongAnswersTest, ErrorsThatOthersDoNotMakeLeadToQuarantine) {
  RecordingWorker broken;
  const WorkerId broken_id = pool_.Connect(Named("broken"), broken);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(observer_.quarantines, IsEmpty());
    auto run = RunAside(Queries(1, i));
    const TaskId task = broken.AwaitLeases(i + 1)[i];
    RecordingWorker right;
    const WorkerId right_id = pool_.Connect(Named("right"), right);
    AnswerWithError(broken_id, task, absl::InternalError("died"));
    AnswerWith(right_id, right.AwaitLeases(1)[0], i);
    EXPECT_THAT(run.get(), IsOk());
    pool_.Disconnect(right_id);
  }
  EXPECT_THAT(observer_.quarantines, ElementsAre("broken held"));
  EXPECT_THAT(pool_.Workers()[0].last_fault, HasSubstr("died"));
}

TEST_F(WrongAnswersTest, TextsOfWorkersAreShortAndPrintable) {
  const std::string nasty = "\x1b[2J\u202E" + std::string(100'000, 'x');
  for (const auto code :
       {absl::StatusCode::kInternal, absl::StatusCode::kInvalidArgument}) {
    RecordingWorker worker;
    const WorkerId id = pool_.Connect(Named("w1"), worker);
    auto run = RunAside(Queries(1));
    AnswerWithError(id, worker.AwaitLeases(1)[0], absl::Status(code, nasty));
    const absl::Status status = run.get().status();
    EXPECT_THAT(status, StatusIs(code, HasSubstr("?[2J?xxx")));
    EXPECT_LE(status.message().size(), WorkerQuarantine::kMaxFaultBytes);
    EXPECT_LE(pool_.Workers()[0].last_fault.size(),
              WorkerQuarantine::kMaxFaultBytes);
    pool_.Disconnect(id);
  }
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

// Otherwise an operator who frees one worker frees the other too.
TEST_F(WrongAnswersTest, AWorkerNamedLikeASourceIsNotReleasedWithIt) {
  WorkerInfo impostor = Named("host-of-w1");
  impostor.identity.host = "elsewhere";
  for (int i = 0; i < 3; ++i) FailOnce("w1").IgnoreError();
  for (int i = 0; i < 3; ++i) FailOnce(impostor).IgnoreError();

  EXPECT_THAT(pool_.ReleaseWorker("host-of-w1"), IsOk());

  EXPECT_THAT(observer_.quarantines,
              ElementsAre("w1 held", "host-of-w1 held", "w1 released"));
  // Nor is it meant once the source is free. Without a worker of this source,
  // the text can only be a name.
  RecordingWorker worker;
  const WorkerId id = pool_.Connect(Named("w1"), worker);
  EXPECT_THAT(pool_.ReleaseWorker("host-of-w1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("host-of-w1")));
  pool_.Disconnect(id);
  EXPECT_THAT(pool_.ReleaseWorker("host-of-w1"), IsOk());
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

// The id of the lease may be what was damaged.
TEST_F(WrongAnswersTest, ADamagedAnswerIsNotHeldAgainstTheLeaseThatItNames) {
  RecordingWorker damaging;
  const WorkerId id = pool_.Connect(Named("damaging", 2), damaging);
  auto run = RunAside(Queries(2));
  const std::vector<TaskId> tasks = damaging.AwaitLeases(2);
  AnswerDamaged(id, tasks[1]);  // The answer to the first one, perhaps.
  EXPECT_TRUE(damaging.is_closed());
  EXPECT_EQ(pool_.Workers().size(), 0);
  ASSERT_THAT(observer_.rejections, SizeIs(1));
  EXPECT_EQ(observer_.rejections[0].adapter, "");

  // Both are asked again, and the same worker may answer both.
  RecordingWorker again;
  const WorkerId again_id = pool_.Connect(Named("damaging", 2), again);
  EXPECT_EQ(pool_.Workers()[0].rejected, 1);
  EXPECT_THAT(again.AwaitLeases(2), UnorderedElementsAreArray(tasks));
  AnswerWith(again_id, tasks[0], 0);
  AnswerWith(again_id, tasks[1], 1);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(0, 1));
  EXPECT_EQ(observer_.events[QueryEvent::kLost], 0);
}

// It holds nothing any more, but damaged the answer that it owed.
TEST_F(WrongAnswersTest, ADamagedAnswerThatComesTooLateCounts) {
  RecordingWorker slow;
  const WorkerId slow_id = pool_.Connect(Named("slow"), slow);
  auto run = RunAside(Queries(1));
  const TaskId task = slow.AwaitLeases(1)[0];
  now_s_ = 31;
  RecordingWorker quick;
  const WorkerId quick_id = pool_.Connect(Named("quick"), quick);
  AnswerWith(quick_id, quick.AwaitLeases(1)[0], 0);
  EXPECT_THAT(run.get(), IsOk());
  AnswerDamaged(slow_id, task);
  EXPECT_TRUE(slow.is_closed());
  RecordingWorker again;
  pool_.Disconnect(quick_id);
  pool_.Connect(Named("slow"), again);
  EXPECT_EQ(pool_.Workers()[0].rejected, 1);
}

TEST_F(WrongAnswersTest, AWorkerThatDamagesEveryAnswerFailsTheQuery) {
  auto run = RunAside(Queries(1));
  for (int i = 0; i < 3; ++i) {
    RecordingWorker worker;
    const WorkerId id = pool_.Connect(Named("damaging"), worker);
    AnswerDamaged(id, worker.AwaitLeases(1)[0]);
  }
  EXPECT_THAT(run.get(),
              StatusIs(absl::StatusCode::kInternal,
                       "worker damaging (tangram 1.2), adapter counting 1: "
                       "digest: none"));
  EXPECT_THAT(observer_.quarantines, ElementsAre("damaging held"));
}

TEST_F(WrongAnswersTest, FaultsWithoutALeaseCountAgainstTheConnectionOnly) {
  for (int i = 0; i < 10; ++i) {
    RecordingWorker worker;
    const WorkerId id = pool_.Connect(Named("w1"), worker);
    AnswerDamaged(id, 12345);
    EXPECT_TRUE(worker.is_closed());
  }
  EXPECT_THAT(observer_.rejections, SizeIs(10));
  EXPECT_THAT(observer_.quarantines, IsEmpty());
  RecordingWorker worker;
  pool_.Connect(Named("w1"), worker);
  EXPECT_EQ(pool_.Workers()[0].rejected, 0);
}

}  // namespace
}  // namespace tangram
