#include "common/wire/grpc_status.h"

#include <grpcpp/support/status.h>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(GrpcStatusTest, EveryCodeSurvivesTheRoundTrip) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code),
                              code == 0 ? "" : "why");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
    EXPECT_EQ(ToGrpc(status).error_code(), code);
  }
}

}  // namespace
}  // namespace tangram
