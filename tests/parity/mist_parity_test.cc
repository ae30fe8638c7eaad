#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/mist_formula.h"
#include "tests/parity/mist_reference.h"
#include "tests/parity/mist_runs.h"
#include "tests/parity/mist_tuning.h"
#include "tests/parity/reference_data.h"
#include "worker/adapters/mist/inter_stage.h"

namespace tangram::mist::reference {
namespace {

using tangram::testing::kNoReferenceData;
using tangram::testing::ReadReferenceData;
using tangram::testing::ReadReferenceText;
using ::testing::SizeIs;

constexpr double kNever = std::numeric_limits<double>::infinity();
// Upstream computes in fp32.
constexpr double kTolerance = 1e-6;

struct Reference {
  nlohmann::json golden;
  std::map<std::string, Hardware> hardware;
  std::map<int, PieceTable> seconds;
};

std::optional<Reference> ReadReference() {
  const auto golden = ReadReferenceData("mist/golden_runs_here.json");
  const auto hardware =
      ReadReferenceData("mist/hardware_comm_and_interference.json");
  if (!golden || !hardware) return std::nullopt;
  return Reference{*golden, ReadHardware(*hardware), ReadSeconds(*golden)};
}

// The formula that scores plans.

void ExpectFigures(const StageFigures& figures, const nlohmann::json& want,
                   const std::string& role) {
  SCOPED_TRACE(role);
  const double steady_s = want["stable"];
  EXPECT_NEAR(figures.steady_s, steady_s, kTolerance * std::max(1.0, steady_s));
  EXPECT_NEAR(figures.extra_s, want["delta"], kTolerance);
  EXPECT_NEAR(figures.forward_peak_mb, want["mem_fwd_peak_MB"], 0.01);
  EXPECT_NEAR(figures.backward_peak_mb, want["mem_bwd_peak_MB"], 0.01);
}

struct Role {
  const char* name;
  bool has_pre;
  bool has_post;
};
constexpr Role kRoles[] = {{"middle", false, false},
                           {"with_pre", true, false},
                           {"with_post", false, true},
                           {"with_both", true, true}};

TEST(MistParityTest, FormulaGivesWhatUpstreamAnalyses) {
  const auto reference = ReadReference();
  if (!reference) GTEST_SKIP() << kNoReferenceData;
  const nlohmann::json& samples = reference->golden["stage_samples"];
  ASSERT_THAT(samples, SizeIs(120));
  const ModelSizes sizes;
  int compared = 0;
  for (const nlohmann::json& sample : samples) {
    SCOPED_TRACE(sample["strategy"].dump());
    const Hardware& hardware = reference->hardware.at(sample["hw"]);
    Stage stage = {.nodes = sample["nodes"],
                   .gpus_per_node = sample["gpus_per_node"],
                   .num_microbatches = sample["grad_accum"],
                   .policy = ReadPolicy(sample["strategy"]),
                   .layers = sample["layers"],
                   .recomputed = sample["ckpt_layers"],
                   .stages_behind = sample["pre_saved_micro_batches"]};
    EXPECT_NEAR(MemoryFactor(stage.policy, 0, 1), sample["memory_factor"],
                kTolerance);
    for (const Role& role : kRoles) {
      if (!sample.contains(role.name)) continue;
      stage.has_pre = role.has_pre;
      stage.has_post = role.has_post;
      const StageFigures figures = Evaluate(
          hardware, reference->seconds.at(stage.policy.samples), sizes, stage);
      const nlohmann::json& want = sample[role.name];
      ExpectFigures(figures, want, role.name);
      const bool alone = role.has_pre && role.has_post;
      const double latency_s =
          figures.steady_s + figures.extra_s / stage.num_microbatches +
          (alone ? 0 : TransferSeconds(hardware, sizes, stage));
      EXPECT_NEAR(latency_s, want["latency_incl_p2p"],
                  kTolerance * std::max(1.0, latency_s));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 364);
}

// Inter-stage choice.

double Optimum(const InterStageMilp& milp, double slowest_bound_s) {
  double least = kNever;
  for (const StagedPipeline& pipeline :
       ChoosePolicies({.num_layers = milp.num_layers,
       .num_stages = milp.num_stages,
       .option = [&](int stage, int begin, int end) -> StageOption {
         const auto found = milp.policies[stage].find(end - begin);
         if (found == milp.policies[stage].end()) return {};
         return {.policies = found->second};
       },
       .slowest_bound_s = slowest_bound_s})) {
    least = std::min(least, pipeline.IterationSeconds(milp.num_microbatches));
  }
  return least;
}

TEST(MistParityTest, InterStageChoiceIsTheProgramsOptimum) {
  const auto reference = ReadReference();
  const auto archive = ReadReferenceText("mist/inter_stage_milp_mps.tar.gz");
  if (!reference || !archive) GTEST_SKIP() << kNoReferenceData;
  const std::vector<InterStageMilp> milps = ReadMilps(*archive);
  const nlohmann::json& solved =
      reference->golden["runs"]["tune_1p3b_8gpu_gbs64_no_offload"]["milp"];
  ASSERT_THAT(milps, SizeIs(28));
  ASSERT_THAT(solved, SizeIs(28));
  int optimal = 0;
  for (size_t i = 0; i < milps.size(); ++i) {
    SCOPED_TRACE(milps[i].name);
    const double optimum = Optimum(milps[i], milps[i].slowest_bound_s);
    if (solved[i]["status"] == "Optimal") {
      const double want = solved[i]["obj"];
      EXPECT_NEAR(optimum, want, kTolerance * want);
      ++optimal;
    } else {
      EXPECT_EQ(optimum, kNever);
    }
  }
  EXPECT_EQ(optimal, 12);
}

// Optima of upstream's programs without its cut, which stops a program at the
// best objective so far. Found by GLPK 5.0 (glpsol --freemps, with the right
// side of the last row raised to 1e12). "Does not fit" is a policy of 1e6
// seconds.
constexpr double kUncutOptimum[] = {
    2000000,  3000000,  5000000,     9000000,     5.051762477,
    4000000,  6000000,  10000000,    4.677334249, 5.829027921,
    8000000,  12000000, 5.091933608, 4.994612053, 6.483046904,
    16000000, 17000000, 5.25352186,  5.302228987, 6.998640001,
    33000000, 34000000, 5.578511864, 5.939263687, 65000000,
    66000000, 68000000, 6.22164274};

TEST(MistParityTest, InterStageChoiceIsTheOptimumWithoutCutToo) {
  const auto archive = ReadReferenceText("mist/inter_stage_milp_mps.tar.gz");
  if (!archive) GTEST_SKIP() << kNoReferenceData;
  const std::vector<InterStageMilp> milps = ReadMilps(*archive);
  ASSERT_THAT(milps, SizeIs(std::size(kUncutOptimum)));
  for (size_t i = 0; i < milps.size(); ++i) {
    SCOPED_TRACE(milps[i].name);
    EXPECT_NEAR(Optimum(milps[i], kNever), kUncutOptimum[i],
                kTolerance * kUncutOptimum[i]);
  }
}

// The whole search.

bool FitsAll(const TuningCase& tuning, const std::vector<Stage>& stages) {
  const int num_stages = static_cast<int>(stages.size());
  for (int i = 0; i < num_stages; ++i) {
    const Policy& policy = stages[i].policy;
    const StageFigures figures =
        Evaluate(tuning.hardware, tuning.seconds.at(policy.samples),
                 tuning.sizes, stages[i]);
    if (!Fits(tuning, figures, policy, i, num_stages)) return false;
  }
  return true;
}

TEST(MistParityTest, PlansAreAsFastAsUpstreams) {
  const auto golden = ReadReferenceData("mist/golden_runs_here.json");
  const auto hardware =
      ReadReferenceData("mist/hardware_comm_and_interference.json");
  if (!golden || !hardware) GTEST_SKIP() << kNoReferenceData;
  for (const RecordedRun& run : ReadRuns(*golden, *hardware)) {
    SCOPED_TRACE(run.name);
    const double upstream_s = IterationSeconds(run.tuning, run.plan);
    EXPECT_NEAR(upstream_s, run.iteration_s, kTolerance * run.iteration_s);
    EXPECT_TRUE(FitsAll(run.tuning, run.plan));

    const TunedPipeline ours = Tune(run.tuning);

    ASSERT_FALSE(ours.stages.empty());
    EXPECT_LE(ours.iteration_s, upstream_s * (1 + 1e-12));
    EXPECT_DOUBLE_EQ(ours.iteration_s,
                     IterationSeconds(run.tuning, ours.stages));
    EXPECT_TRUE(FitsAll(run.tuning, ours.stages));
  }
}

}  // namespace
}  // namespace tangram::mist::reference
