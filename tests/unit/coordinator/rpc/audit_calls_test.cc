#include "coordinator/rpc/audit_calls.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/planner_service.pb.h"
#include "tangram/v1/status_service.pb.h"

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

TEST(TargetOfTest, OnlyTheBeginningOfALargeRequestIsRead) {
  v1::SubmitJobRequest submit;
  submit.set_job_id("large");
  submit.mutable_request()->mutable_model()->set_name(
      std::string(100'000, 'x'));
  const std::string bytes = submit.SerializeAsString();
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/SubmitJob", bytes.substr(0, 4096)),
            "large");
}

TEST(TargetOfTest, WhatCannotBeReadIsNothing) {
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", ""), "");
  // A name that is longer than the message.
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", "\x0a\x7fnightly"), "");
  EXPECT_EQ(TargetOf("/tangram.v1.Jobs/CancelJob", "\xff\xff\xff"), "");
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
