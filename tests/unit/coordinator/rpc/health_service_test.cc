#include "coordinator/rpc/health_service.h"

#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/rpc_method.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "gtest/gtest.h"

namespace tangram {
namespace {

grpc::ByteBuffer NoBytes() {
  const grpc::Slice none;
  return {&none, 1};
}

// A call of grpc.health.v1.Health/Watch.
class Watching {
 public:
  explicit Watching(const std::shared_ptr<grpc::Channel>& channel)
      : stream_(grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
            channel.get(),
            grpc::internal::RpcMethod(
                "/grpc.health.v1.Health/Watch",
                grpc::internal::RpcMethod::SERVER_STREAMING, channel),
            &context_, NoBytes())) {}

  bool IsTold() {
    grpc::ByteBuffer status;
    return stream_->Read(&status);
  }
  grpc::StatusCode Code() { return stream_->Finish().error_code(); }
  grpc::StatusCode End() {
    context_.TryCancel();
    return Code();
  }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> stream_;
};

class HealthServiceTest : public ::testing::Test {
 protected:
  std::shared_ptr<grpc::Channel> Serve(Health& health) {
    service_ = health.CreateService();
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    return server_->InProcessChannel({});
  }

  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(HealthServiceTest, OneHostHasFewWatchesAtOnce) {
  Health health({.max_of_key = 2, .max_of_all = 100});
  const auto channel = Serve(health);
  Watching first(channel);
  Watching second(channel);
  EXPECT_TRUE(first.IsTold());
  EXPECT_TRUE(second.IsTold());
  Watching third(channel);
  EXPECT_FALSE(third.IsTold());
  EXPECT_EQ(third.Code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(first.End(), grpc::StatusCode::CANCELLED);
  // The server hears a little later that the first has ended.
  bool is_told = false;
  for (int i = 0; i < 1000 && !is_told; ++i) {
    Watching again(channel);
    is_told = again.IsTold();
    again.End();
  }
  EXPECT_TRUE(is_told);
  second.End();
  server_->Shutdown();
}

TEST_F(HealthServiceTest, AllHostsTogetherHaveALimit) {
  Health health({.max_of_key = 100, .max_of_all = 1});
  const auto channel = Serve(health);
  Watching first(channel);
  EXPECT_TRUE(first.IsTold());
  Watching second(channel);
  EXPECT_FALSE(second.IsTold());
  EXPECT_EQ(second.Code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  first.End();
  server_->Shutdown();
}

}  // namespace
}  // namespace tangram
