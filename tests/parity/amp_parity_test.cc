// The answers of the original program for its three examples: 171 predictions
// to four digits, with their splits. And for two clusters of 64 and 128 GPUs,
// as far as it came in ten minutes.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "coordinator/planners/rivals/amp/amp_search.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/parity/amp_examples.h"
#include "tests/parity/reference_data.h"

namespace tangram {
namespace {

using ::nlohmann::json;
using testing::AmpExample;
using testing::AmpExampleInput;
using testing::AmpExamples;
using testing::AmpOriginalBounds;
using testing::kAmpFast;
using testing::kAmpSlow;
using testing::kNoReferenceData;
using testing::ReadReferenceData;

using Strategy = std::vector<int>;  // tp, dp, samples

std::map<Strategy, AmpPlan> ByStrategy(const AmpAnswer& answer) {
  std::map<Strategy, AmpPlan> plans;
  for (const AmpPlan& plan : answer.plans) {
    plans[{plan.tp_degree, plan.dp_degree, plan.samples}] = plan;
  }
  return plans;
}

void ExpectAnswers(const AmpInput& input, const json& run, bool is_gpt) {
  const AmpAnswer answer = SearchAmp(input, AmpDefects::Upstream(), nullptr);
  const std::map<Strategy, AmpPlan> plans = ByStrategy(answer);
  int found = 0;
  for (const json& row : run["ranked"]) {
    SCOPED_TRACE(row.dump());
    const auto plan = plans.find({row["tp"], row["dp"], row["mbs"]});
    ASSERT_NE(plan, plans.end());
    ++found;
    EXPECT_EQ(AmpOriginalBounds(plan->second.bounds, is_gpt),
              row["stage_bounds"].get<std::vector<int>>());
    const double expected_s = row["predicted_s"];
    EXPECT_NEAR(plan->second.predicted_s, expected_s, 5.1e-5);
  }
  EXPECT_GT(found, 0);
  if (run.contains("candidates")) {
    EXPECT_EQ(found, answer.tried);
    EXPECT_EQ(found, run["candidates"].get<int>());
  }
}

class AmpParityTest : public ::testing::TestWithParam<AmpExample> {};

TEST_P(AmpParityTest, PredictsAndSplitsAsTheOriginal) {
  const AmpExample& example = GetParam();
  const auto profiles = ReadReferenceData("amp/inputs_profiles.json");
  const auto settings = ReadReferenceData("amp/inputs_settings.json");
  const auto run =
      ReadReferenceData("amp/runs/sample_" + example.name + ".json");
  if (!profiles || !settings || !run) GTEST_SKIP() << kNoReferenceData;
  const json& setting = (*settings)["settings"][example.name];
  ExpectAnswers(AmpExampleInput(*profiles, example, setting["inter_bps"],
                                setting["intra_bps"], setting["gbs"]),
                *run, example.model == "gpt2");
}

INSTANTIATE_TEST_SUITE_P(Examples, AmpParityTest,
                         ::testing::ValuesIn(AmpExamples()),
                         [](const auto& test) { return test.param.name; });

class AmpLargeParityTest : public ::testing::TestWithParam<int> {};

TEST_P(AmpLargeParityTest, PredictsAndSplitsAsTheOriginal) {
  const auto profiles = ReadReferenceData("amp/inputs_profiles.json");
  const auto run = ReadReferenceData("amp/runs/amp_het" +
                                     std::to_string(GetParam()) + ".json");
  if (!profiles || !run) GTEST_SKIP() << kNoReferenceData;
  const int nodes = (*run)["nodes"];
  const int slow = (*run)["slow_nodes_T4"];
  AmpExample example{.name = "large", .model = "gpt2"};
  example.types.assign(nodes - slow, kAmpFast);
  std::vector<double> inter_bps(nodes - slow, 10e9);
  std::vector<double> intra_bps(nodes - slow, 170e9);
  example.types.resize(nodes, kAmpSlow);
  inter_bps.resize(nodes, 50e9);
  intra_bps.resize(nodes, 50e9);
  ExpectAnswers(
      AmpExampleInput(*profiles, example, inter_bps, intra_bps, (*run)["gbs"]),
      *run, /*is_gpt=*/true);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AmpLargeParityTest, ::testing::Values(64, 128),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tangram
