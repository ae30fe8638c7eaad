#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/aceso_cost.h"
#include "tests/parity/aceso_reference.h"
#include "tests/parity/aceso_search.h"
#include "tests/parity/reference_data.h"

namespace tangram::aceso::reference {
namespace {

using ::tangram::testing::kNoReferenceData;
using ::tangram::testing::ReadReferenceData;
using ::tangram::testing::ReadReferenceText;

constexpr const char* kFixtures[] = {"1_3B_4gpu", "2_6B_8gpu", "6_7B_16gpu",
                                     "13B_32gpu"};

// The recorded figures have six decimals.
constexpr double kRelativeError = 1e-6;

std::optional<Setting> SettingOf(const std::string& model, int num_layers,
                                 int gpus_per_node) {
  const auto operators = ReadReferenceText(kOperatorsFile);
  const auto links = ReadReferenceText(kLinksFile);
  if (!operators || !links) return std::nullopt;
  return ReadSetting(*operators, *links, model, num_layers, gpus_per_node);
}

// Calls check(setting, case) for every configuration of the fixtures that
// upstream evaluated. Returns false if there are none.
template <typename Check>
bool ForEachFixture(const Check& check) {
  for (const std::string name : kFixtures) {
    const auto fixtures =
        ReadReferenceData("aceso/reference/fixtures_" + name + ".json");
    if (!fixtures) return false;
    const nlohmann::json& header = fixtures->at("header");
    const auto setting = SettingOf(header.at("model").get<std::string>(),
                                   header.at("num_layers").get<int>(),
                                   header.at("gpus_per_node").get<int>());
    if (!setting) return false;
    for (const nlohmann::json& recorded : fixtures->at("cases")) {
      if (!recorded.contains("eval")) continue;
      SCOPED_TRACE(name + ", " + recorded.at("kind").get<std::string>() +
                   ", stages: " + recorded.at("num_stages").dump());
      check(*setting, recorded);
    }
  }
  return true;
}

void ExpectNear(double ours, const nlohmann::json& recorded,
                const std::string& what) {
  const double theirs = recorded.get<double>();
  EXPECT_NEAR(ours, theirs, 1e-6 + kRelativeError * theirs) << what;
}

TEST(AcesoParityTest, FormulaGivesRecordedTimesAndMemory) {
  const bool found = ForEachFixture(
      [](const Setting& setting, const nlohmann::json& recorded) {
        const Score score =
            ScoreOf(setting, ReadConfiguration(recorded.at("config")));
        const nlohmann::json& eval = recorded.at("eval");
        ExpectNear(score.iteration_ms, eval.at("iteration_ms"), "iteration");
        ExpectNear(score.max_memory_mb, eval.at("max_memory_mb"), "memory");
        for (size_t i = 0; i < score.stages.size(); ++i) {
          const StageScore& ours = score.stages[i];
          const nlohmann::json& theirs = eval.at("stages")[i];
          ExpectNear(ours.forward_us, theirs.at("fwd_us"), "forward");
          ExpectNear(ours.backward_us, theirs.at("bwd_us"), "backward");
          ExpectNear(ours.recompute_us, theirs.at("recompute_us"), "recompute");
          ExpectNear(ours.receive_us, theirs.at("in_comm_us"), "receive");
          ExpectNear(ours.send_us, theirs.at("out_comm_us"), "send");
          ExpectNear(ours.memory_mb, eval.at("stage_memory_mb")[i], "memory");
          ExpectNear(ours.iteration_ms, eval.at("stage_time_ms")[i], "time");
        }
      });
  if (!found) GTEST_SKIP() << kNoReferenceData;
}

TEST(AcesoParityTest, RecomputeRuleChoosesTheRecordedOperators) {
  const bool found = ForEachFixture(
      [](const Setting& setting, const nlohmann::json& recorded) {
        const ScoredPlan theirs = ReadConfiguration(recorded.at("config"));
        ScoredPlan ours = theirs;
        ChooseRecompute(setting, ours);
        for (size_t i = 0; i < ours.stages.size(); ++i) {
          EXPECT_EQ(ours.stages[i].recomputed, theirs.stages[i].recomputed)
              << "stage " << i;
        }
      });
  if (!found) GTEST_SKIP() << kNoReferenceData;
}

// Both plans are scored by Aceso's formula. Ours is the fastest plan that our
// search finds on the same measurements; see Question.
TEST(AcesoParityTest, PlansAreAsFastAsRecordedOnes) {
  const std::vector<RecordedSearch> searches = ReadSearches();
  if (searches.empty()) GTEST_SKIP() << kNoReferenceData;
  for (const RecordedSearch& recorded : searches) {
    SCOPED_TRACE(recorded.name);
    const auto plans = AskOurs(recorded);
    const ScoredPlan* fastest = FastestOf(recorded, plans);
    ASSERT_NE(fastest, nullptr);
    const Score score = ScoreOf(recorded.setting, *fastest);
    EXPECT_LE(score.max_memory_mb, recorded.setting.memory_limit_mb);
    EXPECT_LE(score.iteration_ms,
              recorded.fastest().iteration_ms * (1 + kRelativeError));
  }
}

}  // namespace
}  // namespace tangram::aceso::reference
