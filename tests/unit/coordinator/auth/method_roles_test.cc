#include "coordinator/auth/method_roles.h"

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::IsNull;
using ::testing::NotNull;

class NoErrors : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  void AddError(const std::string& file, int line, int,
                const std::string& message) override {
    ADD_FAILURE() << file << ":" << line << ": " << message;
  }
};

// "/tangram.v1.Jobs/GetJob" and so on, of all services but the one that adapter
// programs serve.
std::vector<std::string> ServedMethods() {
  const std::string folder = TANGRAM_SOURCE_DIR "/proto";
  google::protobuf::compiler::DiskSourceTree tree;
  tree.MapPath("", folder);
  NoErrors errors;
  google::protobuf::compiler::Importer importer(&tree, &errors);
  std::vector<std::string> methods;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder + "/tangram/v1")) {
    const std::string name = entry.path().filename();
    if (!absl::EndsWith(name, "_service.proto") ||
        name == "parallelizer_service.proto") {
      continue;
    }
    const auto* file = importer.Import("tangram/v1/" + name);
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(absl::StrCat("/", file->service(s)->full_name(), "/",
                                       file->service(s)->method(m)->name()));
      }
    }
  }
  return methods;
}

TEST(MethodRolesTest, EveryMethodNeedsARole) {
  const std::vector<std::string> methods = ServedMethods();
  EXPECT_GE(methods.size(), 7);
  for (const std::string& method : methods) {
    SCOPED_TRACE(method);
    const MethodAccess* access = FindMethodAccess(method);
    ASSERT_THAT(access, NotNull());
    EXPECT_FALSE(access->is_public);
    EXPECT_NE(access->any_of, Roles());
  }
}

TEST(MethodRolesTest, OtherMethodsAreUnknown) {
  EXPECT_THAT(FindMethodAccess("/tangram.v1.Jobs/DropAll"), IsNull());
  EXPECT_THAT(FindMethodAccess("/tangram.v1.Jobs/GetJob/"), IsNull());
  EXPECT_THAT(FindMethodAccess(""), IsNull());
}

}  // namespace
}  // namespace tangram
