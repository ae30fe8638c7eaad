#include "coordinator/rpc/job_masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tangram/v1/job_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(JobMasksTest, LeaveWhatIsNamed) {
  v1::Job job;
  job.set_job_id("a");
  job.set_priority(3);
  job.mutable_result()->add_notes("note");
  google::protobuf::FieldMask mask;
  v1::Job all = job;
  ApplyReadMask(mask, all);
  EXPECT_TRUE(all.has_result());
  mask.add_paths("job_id");
  mask.add_paths("state");
  EXPECT_TRUE(CheckReadMask(mask).ok());
  ApplyReadMask(mask, job);
  EXPECT_EQ(job.job_id(), "a");
  EXPECT_EQ(job.priority(), 0);
  EXPECT_FALSE(job.has_result());
  mask.add_paths("colour");
  EXPECT_THAT(CheckReadMask(mask), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("\"colour\"")));
}

TEST(JobMasksTest, TheRequestIsReadWhereItIsNamedAndRefusedInLists) {
  v1::PlanRequest request;
  request.mutable_model()->set_name("toy");
  const Job job{.id = "a", .request = request.SerializeAsString()};
  google::protobuf::FieldMask mask;
  EXPECT_FALSE(ToProto(job, Caller(), mask).has_request());
  EXPECT_TRUE(CheckListMask(mask).ok());
  mask.add_paths("request.model");
  EXPECT_EQ(ToProto(job, Caller(), mask).request().model().name(), "toy");
  EXPECT_EQ(ToProto(job, Caller(), mask).job_id(), "");
  EXPECT_THAT(CheckListMask(mask),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("read_mask: \"request\"")));
}

TEST(JobMasksTest, ChangesAreThoseNamed) {
  v1::UpdateJobRequest update;
  update.mutable_job()->set_priority(4);
  update.mutable_job()->set_keep_s(9);
  (*update.mutable_job()->mutable_labels())["run"] = "8";
  EXPECT_THAT(ChangesOf(update).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("update_mask: missing")));
  update.mutable_update_mask()->add_paths("priority");
  update.mutable_update_mask()->add_paths("labels");
  const auto changes = ChangesOf(update);
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(changes->priority, 4);
  EXPECT_THAT(*changes->labels, ElementsAre(std::pair("run", "8")));
  EXPECT_FALSE(changes->keep_s.has_value());
  for (const char* path : {"state", "request", "job_id", "webhook"}) {
    v1::UpdateJobRequest bad = update;
    bad.mutable_update_mask()->add_paths(path);
    EXPECT_THAT(ChangesOf(bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
}

TEST(JobMasksTest, ATimeoutIsCountedByTheStore) {
  v1::UpdateJobRequest update;
  update.set_timeout_s(20);
  EXPECT_EQ(ChangesOf(update)->timeout_s, 20);
  EXPECT_FALSE(ChangesOf(update)->deadline_s.has_value());
  update.set_timeout_s(0);
  EXPECT_EQ(ChangesOf(update)->timeout_s, 0);
  update.set_timeout_s(-1);
  EXPECT_THAT(
      ChangesOf(update).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout_s: -1")));
  update.set_timeout_s(20);
  update.mutable_update_mask()->add_paths("deadline_s");
  EXPECT_THAT(ChangesOf(update).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected no deadline_s beside it")));
}

}  // namespace
}  // namespace tangram
