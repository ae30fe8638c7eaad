#include "cli/remote/coordinator_channel.h"

#include <grpcpp/support/status.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::StatusIs;

TEST(CallStatusTest, ACoordinatorThatStopsCanBeAskedAgain) {
  EXPECT_THAT(CallStatus(grpc::Status(grpc::StatusCode::CANCELLED, "")),
              StatusIs(absl::StatusCode::kUnavailable,
                       "the coordinator ended the call"));
  EXPECT_THAT(CallStatus(grpc::Status(grpc::StatusCode::NOT_FOUND, "a")),
              StatusIs(absl::StatusCode::kNotFound, "a"));
}

}  // namespace
}  // namespace tangram
