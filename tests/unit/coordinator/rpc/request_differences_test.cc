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

TEST(RequestDifferencesTest, NamesTheSettingsThatDiffer) {
  const Job kept{.priority = 3,
                 .submitted_s = 1000,
                 .labels = {{"run", "7"}, {"team", "vision"}},
                 .deadline_s = 1500};
  EXPECT_EQ(SettingDifferences(kept, kept), "");
  // The same again, an hour later.
  Job now = kept;
  now.submitted_s += 3600;
  now.deadline_s += 3600.001;
  EXPECT_EQ(SettingDifferences(kept, now), "");
  now.deadline_s += 101;
  now.priority = 0;
  now.labels.erase("run");
  now.keep_s = 60;
  now.webhook = "https://a.example/x";
  const std::string text = SettingDifferences(kept, now);
  EXPECT_THAT(text, HasSubstr("priority (3, now 0)"));
  EXPECT_THAT(text,
              HasSubstr("labels ({run=7, team=vision}, now {team=vision})"));
  EXPECT_THAT(text, HasSubstr("timeout_s (500, now 601)"));
  EXPECT_THAT(text, HasSubstr("keep_s (0, now 60)"));
  EXPECT_THAT(text, HasSubstr("webhook (\"\", now \"https://a.example/x\")"));
  // Digits beyond the sixth count.
  now = kept;
  now.keep_s = 2592003;
  Job same_but_longer = now;
  same_but_longer.keep_s = 2592004;
  EXPECT_EQ(SettingDifferences(now, same_but_longer),
            "keep_s (2592003, now 2592004)");
  now = kept;
  now.deadline_s = now.submitted_s + 100'000'000;
  Job later = now;
  later.deadline_s += 400;
  EXPECT_EQ(SettingDifferences(now, later),
            "timeout_s (100000000, now 100000400)");
  now = kept;
  now.deadline_s = 0;
  EXPECT_EQ(SettingDifferences(kept, now), "timeout_s (500, now 0)");
}

}  // namespace
}  // namespace tangram
