#include "coordinator/rpc/reflection.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>

#include <memory>
#include <vector>

namespace tangram {
namespace {

class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*
                         plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) {
      return dynamic_cast<grpc::reflection::ProtoServerReflectionPlugin*>(
                 plugin.get()) != nullptr;
    });
  }
};

}  // namespace

void LeaveOutReflection(grpc::ServerBuilder& builder) {
  builder.SetOption(std::make_unique<WithoutReflection>());
}

}  // namespace tangram
