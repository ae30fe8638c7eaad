#include "coordinator/rpc/job_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tangram/v1/job_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

// A text that is not UTF-8: the message would be written, and no client could
// read it.
TEST(JobWireTest, DamagedPlanFailsTheJob) {
  v1::PlanFile plan;
  plan.add_notes("note");
  std::string bytes = plan.SerializeAsString();
  bytes[bytes.find("note")] = '\xff';

  const v1::Job job = ToProto(
      Job{.id = "job-1", .state = JobState::kSucceeded, .result = bytes}, {});

  EXPECT_EQ(job.state(), v1::Job::FAILED);
  EXPECT_FALSE(job.has_result());
  EXPECT_EQ(job.error().code(), static_cast<int>(absl::StatusCode::kDataLoss));
  EXPECT_THAT(job.error().message(), HasSubstr("damaged"));
  v1::Job read;
  EXPECT_TRUE(read.ParseFromString(job.SerializeAsString()));
}

TEST(JobWireTest, PlanIsReadAsItWasStored) {
  v1::PlanFile plan;
  plan.add_notes("note");

  const v1::Job job = ToProto(Job{.id = "job-1",
                                  .state = JobState::kSucceeded,
                                  .result = plan.SerializeAsString()},
                              {});

  EXPECT_EQ(job.state(), v1::Job::SUCCEEDED);
  EXPECT_EQ(job.result().SerializeAsString(), plan.SerializeAsString());
}

TEST(JobWireTest, ErrorsSayTheNameByWhichTheCallerAsks) {
  const Job job{.id = "team-a/x",
                .state = JobState::kFailed,
                .error = absl::DeadlineExceededError(
                    "job \"team-a/x\" has not ended by its deadline")};

  EXPECT_EQ(ToProto(job, {.tenant = "team-a"}).error().message(),
            "job \"x\" has not ended by its deadline");
}

TEST(JobWireTest, IdsThatAddressesDropOrDivideAreRefused) {
  for (const char* good : {"a", "...", ".a", "a..", "run-7_b.c"}) {
    EXPECT_TRUE(CheckJobId(good).ok()) << good;
  }
  for (const char* bad :
       {"", ".", "..", "a/b", "a%2fb", "a b", "a\n", "\xff"}) {
    EXPECT_THAT(CheckJobId(bad), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("job_id: ")))
        << bad;
  }
}

TEST(JobWireTest, LabelsAreChecked) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"", "x"},
                                          {"a b", "x"},
                                          {std::string(64, 'n'), "x"},
                                          {"n", "a=b"},
                                          {"n", "two\nlines"},
                                          {"m", std::string(64, 'v')}}) {
    v1::Job job;
    (*job.mutable_labels())[name] = value;
    EXPECT_THAT(
        CheckedLabels(job.labels()).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("labels")))
        << name << "=" << value;
  }
  v1::Job many;
  for (int i = 0; i < 65; ++i) {
    (*many.mutable_labels())[std::to_string(i)] = "";
  }
  EXPECT_THAT(CheckedLabels(many.labels()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64")));
}

TEST(JobWireTest, PageSizesAreCoerced) {
  v1::ListJobsRequest list;
  EXPECT_EQ(FromProto(list)->limit, 100);
  list.set_page_size(7);
  EXPECT_EQ(FromProto(list)->limit, 7);
  list.set_page_size(1000000);
  EXPECT_EQ(FromProto(list)->limit, 100);
  list.set_page_size(-1);
  EXPECT_THAT(
      FromProto(list).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_size: -1")));
}

}  // namespace
}  // namespace tangram
