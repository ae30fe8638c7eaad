#include "common/wire/error_details.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <string>

#include "common/wire/grpc_status.h"
#include "tangram/v1/error_details.pb.h"

namespace tangram {
namespace {

v1::RpcStatus DetailsOf(const absl::Status& status) {
  v1::RpcStatus details;
  EXPECT_TRUE(details.ParseFromString(ToGrpc(status).error_details()));
  return details;
}

TEST(ErrorDetailsTest, BadInputNamesItsField) {
  const v1::RpcStatus details = DetailsOf(absl::InvalidArgumentError(
      "request.cluster.nodes[3].num_gpus: 0; expected a positive integer"));
  EXPECT_EQ(details.code(), 3);
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_EQ(details.details(0).type_url(),
            "type.googleapis.com/google.rpc.BadRequest");
  v1::BadRequest bad;
  ASSERT_TRUE(bad.ParseFromString(details.details(0).value()));
  EXPECT_EQ(bad.field_violations(0).field(),
            "request.cluster.nodes[3].num_gpus");
  EXPECT_EQ(bad.field_violations(0).description(),
            "0; expected a positive integer");
}

TEST(ErrorDetailsTest, FindsTheFieldOfAMessage) {
  EXPECT_EQ(FieldOf("a.b: 0; expected 1"), "a.b");
  EXPECT_EQ(FieldOf("file.yaml: a.b: 0; expected 1"), "file.yaml: a.b");
  EXPECT_EQ(FieldOf("filter: \"a: b\"; expected x"), "filter");
  EXPECT_EQ(FieldOf("two words: 0; expected 1"), "");
  EXPECT_EQ(FieldOf("no field; expected a: b"), "");
  EXPECT_EQ(FieldOf(": x"), "");
  EXPECT_EQ(FieldOf(""), "");
}

TEST(ErrorDetailsTest, PassingErrorsSayWhenToTryAgain) {
  const v1::RpcStatus usual = DetailsOf(absl::UnavailableError("away"));
  ASSERT_EQ(usual.details_size(), 1);
  const v1::RpcStatus busy =
      DetailsOf(WithRetryDelay(absl::ResourceExhaustedError("too many"), 2.5));
  ASSERT_EQ(busy.details_size(), 1);
  EXPECT_EQ(busy.details(0).type_url(),
            "type.googleapis.com/google.rpc.RetryInfo");
  v1::RetryInfo info;
  ASSERT_TRUE(info.ParseFromString(busy.details(0).value()));
  EXPECT_EQ(info.retry_delay().seconds(), 2);
  EXPECT_EQ(info.retry_delay().nanos(), 500000000);
  // A request that is too large never passes.
  EXPECT_EQ(ToGrpc(absl::ResourceExhaustedError("large")).error_details(), "");
}

TEST(ErrorDetailsTest, NamesTheThing) {
  const v1::RpcStatus details = DetailsOf(
      WithResource(absl::NotFoundError("none"), "tangram.v1.Job", "nightly"));
  v1::ResourceInfo info;
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.resource_type(), "tangram.v1.Job");
  EXPECT_EQ(info.resource_name(), "nightly");
}

// Headers of gRPC have 8 KiB.
TEST(ErrorDetailsTest, AreBounded) {
  const absl::Status status =
      WithResource(absl::InvalidArgumentError("f: " + std::string(100000, 'x')),
                   "t", std::string(100000, 'n'));
  EXPECT_LT(ToGrpc(status).error_details().size(), 5000);
}

TEST(ErrorDetailsTest, OkHasNone) {
  EXPECT_EQ(SerializedDetails(WithRetryDelay(absl::OkStatus(), 1)), "");
}

}  // namespace
}  // namespace tangram
