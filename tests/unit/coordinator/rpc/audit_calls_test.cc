#include "coordinator/rpc/audit_calls.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/planner_service.pb.h"
#include "tangram/v1/status_service.pb.h"
#include "tangram/v1/tenant_service.pb.h"

namespace tangram {
namespace {

TEST(TargetOfTest, ItIsTheJobOrTheWorker) {
  v1::CancelJobRequest cancel;
  cancel.set_job_id("nightly");
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", cancel.SerializeAsString()),
            "nightly");
  v1::ReleaseWorkerRequest release;
  release.set_name("w1@10.0.0.1");
  EXPECT_EQ(TargetOf("/tangram.v1.Workers/ReleaseWorker",
                     release.SerializeAsString()),
            "w1@10.0.0.1");
}

TEST(TargetOfTest, ItIsTheTenantOfCallsAboutTenants) {
  v1::EraseTenantRequest erase;
  erase.set_tenant("team-a");
  EXPECT_EQ(
      TargetOf("/tangram.v1.Tenants/EraseTenant", erase.SerializeAsString()),
      "team-a");
}

TEST(TargetOfTest, ItIsTheJobThatAnUpdateHolds) {
  v1::UpdateJobRequest update;
  update.mutable_job()->set_job_id("first");
  std::string bytes = update.SerializeAsString();
  update.mutable_job()->set_job_id("second");
  update.mutable_job()->set_priority(3);
  bytes += update.SerializeAsString();
  update.mutable_job()->clear_job_id();  // It leaves the one before.
  bytes += update.SerializeAsString();
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/UpdateJob", bytes), "second");
}

TEST(TargetOfTest, TheLastOfSeveralIsTheOneActedOn) {
  v1::SubmitJobRequest submit;
  submit.set_job_id("harmless");
  submit.mutable_request()->mutable_model()->set_name(
      std::string(100'000, 'x'));
  std::string bytes = submit.SerializeAsString();
  submit.set_job_id("nightly");
  bytes += submit.SerializeAsString();
  ASSERT_TRUE(submit.ParseFromString(bytes));
  EXPECT_EQ(submit.job_id(), "nightly");
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/SubmitJob", bytes), "nightly");
}

TEST(TargetOfTest, WhatCannotBeReadIsNothing) {
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", ""), "");
  // A name that is longer than the message.
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", "\x0a\x7fnightly"), "");
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", "\xff\xff\xff"), "");
  // A job that is longer than the message.
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/UpdateJob", "\x0a\x09\x0a\x01x"), "");
  // A name that is longer than its job.
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/UpdateJob", "\x0a\x02\x0a\x01x"), "");
  EXPECT_EQ(TargetOf("/tangram.v1.Planner/Plan", "\x0a\x01x"), "");
  EXPECT_EQ(TargetOf("/no/such", "\x0a\x01x"), "");
}

TEST(TargetOfTest, ControlCharactersDoNotReachTheRecord) {
  v1::CancelJobRequest cancel;
  cancel.set_job_id("a\nb\x1b[31m");
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", cancel.SerializeAsString()),
            "a b?[31m");
}

}  // namespace
}  // namespace tangram
