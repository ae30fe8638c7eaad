#include "coordinator/rpc/request_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RequestDifferencesTest, NamesFieldsWithTheirValues) {
  v1::PlanRequest kept;
  kept.set_parallelizer("aceso");
  kept.mutable_training()->set_global_batch_size(32);
  kept.mutable_cluster()->add_nodes();
  (*kept.mutable_planner_options())["a"] = "1";
  v1::PlanRequest now = kept;
  EXPECT_EQ(
      RequestDifferences(kept.SerializeAsString(), now.SerializeAsString()),
      "");
  now.mutable_training()->set_global_batch_size(64);
  now.set_planner("whole-cluster");
  now.mutable_cluster()->add_nodes();
  const std::string text =
      RequestDifferences(kept.SerializeAsString(), now.SerializeAsString());
  EXPECT_THAT(text, HasSubstr("training.global_batch_size (32, now 64)"));
  EXPECT_THAT(text, HasSubstr("planner (now \"whole-cluster\")"));
  EXPECT_THAT(text, HasSubstr("cluster.nodes[1] (new)"));
  EXPECT_THAT(text, Not(HasSubstr("parallelizer")));
}

TEST(RequestDifferencesTest, IsBounded) {
  v1::PlanRequest kept;
  v1::PlanRequest now;
  for (int i = 0; i < 1000; ++i) {
    kept.mutable_cluster()->add_nodes()->add_names(std::string(100, 'a'));
    now.mutable_cluster()->add_nodes()->add_names(std::string(100, 'b'));
  }
  const std::string text =
      RequestDifferences(kept.SerializeAsString(), now.SerializeAsString());
  EXPECT_THAT(text, HasSubstr(" and 995 more"));
  EXPECT_LT(text.size(), 1000);
}

}  // namespace
}  // namespace tangram
