#include "cli/args/constraints.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// 32 transformer layers between embedding and head.
constexpr int kNumLayers = 34;

TEST(MakeConstraintsTest, ParsesEveryConstraint) {
  ASSERT_OK_AND_ASSIGN(
      const PlanConstraints constraints,
      MakeConstraints({.exclude_nodes = {"t4-[0-1]", "v100"},
                       .exclude_islands = {"T4 x4"},
                       .tp_degrees = {"4", "a100=2"},
                       .cp_degrees = {"2"},
                       .max_stages = {"0=3"},
                       .pins = {"emb-11=a100", "7=0", "12-head=H100 x8"},
                       .runtime = "sailor",
                       .recompute = "full",
                       .pp_degree = 4,
                       .ep_degree = 8,
                       .zero_stage = 1,
                       .zero_degree = 8,
                       .virtual_stages = 2,
                       .schedule = "interleaved"},
                      kNumLayers));
  EXPECT_THAT(constraints.exclude_nodes, ElementsAre("t4-0", "t4-1", "v100"));
  EXPECT_THAT(constraints.exclude_islands, ElementsAre("T4 x4"));
  EXPECT_THAT(constraints.tp_degrees,
              ElementsAre(IslandValue{"", 4}, IslandValue{"a100", 2}));
  EXPECT_THAT(constraints.max_stages, ElementsAre(IslandValue{"0", 3}));
  EXPECT_THAT(constraints.pins,
              ElementsAre(LayerPin{0, 11, "a100"}, LayerPin{7, 7, "0"},
                          LayerPin{12, 33, "H100 x8"}));
  EXPECT_EQ(constraints.runtime, "sailor");
  EXPECT_THAT(constraints.cp_degrees, ElementsAre(IslandValue{"", 2}));
  EXPECT_EQ(constraints.recompute, LayerRecompute::kWholeLayer);
  EXPECT_EQ(constraints.pp_degree, 4);
  EXPECT_EQ(constraints.ep_degree, 8);
  EXPECT_EQ(constraints.zero_stage, 1);
  EXPECT_EQ(constraints.zero_degree, 8);
  EXPECT_EQ(constraints.virtual_stages, 2);
  EXPECT_EQ(constraints.schedule, PipelineSchedule::kInterleaved);
}

TEST(MakeConstraintsTest, RuntimeAnyIsNoConstraint) {
  ASSERT_OK_AND_ASSIGN(const PlanConstraints constraints,
                       MakeConstraints({.runtime = "any"}, kNumLayers));
  EXPECT_TRUE(constraints.none());
}

TEST(MakeConstraintsTest, NothingTypedIsRuntimeAuto) {
  ASSERT_OK_AND_ASSIGN(const PlanConstraints constraints,
                       MakeConstraints({}, kNumLayers));
  EXPECT_EQ(constraints, PlanConstraints{.runtime = kAutoRuntime});
}

void Refuses(const ConstraintChoice& choice, const std::string& message) {
  EXPECT_THAT(MakeConstraints(choice, kNumLayers),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

TEST(MakeConstraintsTest, RefusalsNameTheOption) {
  Refuses({.tp_degrees = {"a100="}}, "--tp: a100=; expected");
  Refuses({.tp_degrees = {"=4"}}, "--tp: =4; expected");
  Refuses({.dp_degrees = {"0"}}, "--dp: 0; expected a positive integer");
  Refuses({.runtime = "x"}, "--runtime: x; expected auto, any or one of flag");
  Refuses({.recompute = "all"},
          "--recompute: all; expected none, selective or full");
  Refuses({.schedule = "dapple"},
          "--schedule: dapple; expected gpipe or 1f1b or");
  Refuses({.max_stages = {"-1"}}, "--max-stages: -1; expected");
  Refuses({.exclude_nodes = {"t4-[0"}}, "--exclude-node: ");
  for (const char* pin : {"a100", "5=", "11-5=a100", "34=a100", "x-3=a100"}) {
    Refuses({.pins = {pin}}, std::string("--pin: ") + pin + "; expected");
  }
  Refuses({.pins = {"99=a100"}}, "with layers from emb, 1 to 32 and head");
}

TEST(NameOptionTest, NamesWhatWasTyped) {
  const std::pair<const char*, const char*> errors[] = {
      {"constraints.pp_degree: 99; expected", "--pp: 99; expected"},
      {"constraints.virtual_stages: 2; expected 1", "--vpp: 2; expected 1"},
      {"constraints.exclude_islands[0]: x; expected",
       "--exclude-island: x; expected"},
      {"constraints.new_one: 1; expected", "constraints.new_one: 1; expected"},
      {"nodes: t4=9; expected", "nodes: t4=9; expected"},
  };
  for (const auto& [error, named] : errors) {
    EXPECT_EQ(NameOption(absl::NotFoundError(error)),
              absl::NotFoundError(named));
  }
}

}  // namespace
}  // namespace tangram
