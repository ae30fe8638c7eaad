#include "coordinator/rpc/job_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

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

}  // namespace
}  // namespace tangram
