#include "frameworks/framework_table.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(FrameworkTableTest, NamesDiffer) {
  std::set<absl::string_view> names;
  for (const Framework& framework : Frameworks()) names.insert(framework.name);
  EXPECT_EQ(names.size(), Frameworks().size());
}

TEST(FrameworkTableTest, PlansForAFrameworkCanBeExportedToIt) {
  for (const Framework* framework : PlanningRuntimes()) {
    EXPECT_NE(framework->write, nullptr) << framework->name;
    EXPECT_FALSE(framework->refuses_all) << framework->name;
  }
}

TEST(FrameworkTableTest, EveryExportSaysWhatItWrites) {
  for (const Framework* framework : ExportTargets()) {
    EXPECT_FALSE(framework->files.empty()) << framework->name;
  }
}

TEST(FrameworkTableTest, KnownRuntimesAreThoseThatRunPlans) {
  std::set<absl::string_view> names;
  for (const Runtime& runtime : KnownRuntimes()) names.insert(runtime.name);
  EXPECT_EQ(names.size(), KnownRuntimes().size());
  EXPECT_EQ(names.count("LAER-MoE"), 1u);
  EXPECT_EQ(names.count(""), 0u);  // DeepSpeed's PipelineModule takes no plan.
}

}  // namespace
}  // namespace tangram
