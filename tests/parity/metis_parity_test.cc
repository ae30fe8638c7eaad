// Metis against the recorded runs of its published planner.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/planners/rivals/metis/metis_input.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/parity/reference_data.h"

namespace tangram {
namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;
using Doubles = std::vector<double>;

constexpr double kMbPerGb = 1024;
constexpr double kSameCost = 1e-9;
constexpr int kTop = 10;

// All but a100_*, whose profile may not be kept.
constexpr const char* kRuns[] = {
    "av_128_neo27_v0.5_p4",  "av_128_neo27_v1_p4",   "av_128_opt350_v1_p4",
    "av_12v4a_neo27_v1_p4",  "av_16_neo27_v0.5_p6",  "av_16_neo27_v1_p4",
    "av_16_opt350_v0.5_p10", "av_16_opt350_v0.5_p4", "av_16_opt350_v0.5_p6",
    "av_16_opt350_v1_p4",    "av_4v12a_neo27_v1_p4", "av_64_neo27_v0.5_p4",
    "av_64_neo27_v1_p4",     "av_64_opt350_v1_p4"};

json Read(const std::string& file) {
  const auto data = testing::ReadReferenceData("metis/" + file);
  EXPECT_TRUE(data.has_value()) << file;
  return data.value_or(json());
}

int IndexOf(const Strings& names, const std::string& name) {
  return static_cast<int>(std::find(names.begin(), names.end(), name) -
                          names.begin());
}

// The hosts of the cluster with as many GPUs of each type as the run.
std::vector<MetisHost> HostsOf(const json& run, const Strings& types) {
  const json file = Read("inputs_clusters_models.json");
  for (const auto& [name, hosts] : file.at("clusters").items()) {
    json counts = json::object();
    std::vector<MetisHost> found;
    for (const json& host : hosts) {
      const std::string type = host.at("instance_type");
      const int gpus = host.at("gpus");
      counts[type] = counts.value(type, 0) + gpus;
      found.push_back({.type = IndexOf(types, type),
                       .num_gpus = gpus,
                       .memory_mb = host.at("memory").get<double>() * kMbPerGb,
                       .intra_bandwidth = host.at("intra_bandwidth"),
                       .inter_bandwidth = host.at("inter_bandwidth")});
    }
    if (counts == run.at("devices")) return found;
  }
  ADD_FAILURE() << "no cluster for " << run.at("name");
  return {};
}

MetisInput InputOf(const json& run) {
  const std::string profiled = run.at("profile");
  const json file =
      Read(profiled.find("Neo") != std::string::npos
               ? "inputs_profile_gpt-neo-2.7_a100-40_v100-16_sailor.json"
               : "inputs_profile_opt-350_a100-40_v100-16_sailor.json");
  const Strings types = run.at("node_sequence_order");
  MetisInput input{.hosts = HostsOf(run, types),
                   .num_types = static_cast<int>(types.size())};
  const json& model = file.at("model");
  input.parameter_bytes = model.at("param_bytes_per_layer").get<Doubles>();
  input.optimizer_ms = model.at("optimizer_ms_of_first_file");
  input.batch_generator_ms = model.at("batch_generator_ms_of_first_file");
  const json& shape = run.at("model");
  const double tokens = shape.at("sequence_length");
  input.output_bytes.assign(input.num_layers(),
                            tokens * shape.at("hidden_size").get<double>());
  input.output_bytes.back() = tokens * shape.at("vocab_size").get<double>();
  for (const auto& [type, degrees] : file.at("profiles").items()) {
    for (const auto& [tp, sizes] : degrees.items()) {
      for (const auto& [samples, entry] : sizes.items()) {
        MetisProfile& profile =
            input.profiles[{IndexOf(types, type), std::stoi(tp.substr(2)),
                            std::stoi(samples.substr(3))}];
        profile.layer_ms = entry.at("layer_fwd_bwd_ms").get<Doubles>();
        profile.state_mb = entry.at("layer_mem_mb").get<Doubles>();
        profile.activation_mb.assign(input.num_layers(), 0);
        profile.sync_ms = entry.at("forward_backward_ms").get<double>() -
                          std::accumulate(profile.layer_ms.begin(),
                                          profile.layer_ms.end(), 0.0);
      }
    }
  }
  return input;
}

// As the runs were made: the variance need not be an integer, and a missing
// profile ends one walk.
MetisSettings SettingsOf(const json& run) {
  MetisSettings settings{.global_batch = run.at("gbs"),
                         .max_tp = run.at("max_profiled_tp"),
                         .max_samples = run.at("max_profiled_bs"),
                         .min_group_scale = run.at("variance"),
                         .max_permute_len = run.at("max_permute_len"),
                         .max_plans = 2 * kTop,
                         .defects = MetisDefects::AllOfUpstream()};
  settings.defects.integer_scale = false;
  settings.defects.missing_profile = MetisMissingProfile::kEndsWalk;
  if (run.at("timed_out").get<bool>()) {
    settings.max_inter_stage_plans = run.at("counts").at("inter");
  }
  return settings;
}

bool IsSame(const MetisPlan& plan, const json& theirs, const Strings& types) {
  const auto groups = theirs.at("device_groups").get<std::vector<int>>();
  const auto bounds = theirs.at("layer_partition").get<std::vector<int>>();
  if (std::abs(plan.cost_ms / theirs.at("cost_ms").get<double>() - 1) >
          kSameCost ||
      plan.batches != theirs.at("batches") ||
      plan.costed_stages != theirs.at("num_stage_costed") ||
      plan.stages.size() != groups.size()) {
    return false;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[plan.types[i]] != theirs.at("node_sequence")[i]) return false;
  }
  for (size_t s = 0; s < groups.size(); ++s) {
    const MetisStage& stage = plan.stages[s];
    const json degrees = {stage.dp, stage.tp};
    if (stage.num_gpus != groups[s] || stage.end_layer != bounds[s + 1] ||
        degrees != theirs.at("strategies")[s]) {
      return false;
    }
  }
  return true;
}

// The plans among the published ten that are ours too. Plans of equal cost may
// change places.
int SamePlans(const MetisRanking& ours, const json& run) {
  const Strings types = run.at("node_sequence_order");
  int same = 0;
  for (const json& theirs : run.at("top")) {
    same += std::any_of(
        ours.plans.begin(), ours.plans.end(),
        [&](const MetisPlan& plan) { return IsSame(plan, theirs, types); });
  }
  return same;
}

class MetisParityTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto run = testing::ReadReferenceData(
        absl::StrCat("metis/runs/", GetParam(), ".json"));
    if (!run) GTEST_SKIP() << testing::kNoReferenceData;
    run_ = *run;
  }
  json run_;
};

TEST_P(MetisParityTest, UpstreamModeRepeatsThePublishedPlanner) {
  const MetisRanking ours = RankMetisPlans(InputOf(run_), SettingsOf(run_));
  const json& counts = run_.at("counts");
  EXPECT_EQ(ours.inter_stage_plans, counts.at("inter"));
  EXPECT_EQ(ours.missing_profiles, counts.at("keyerr_search"));
  EXPECT_EQ(ours.costed, counts.at("costed"));
  EXPECT_EQ(ours.invalid, counts.at("invalid_or_miscosted"));
  EXPECT_NEAR(ours.plans.front().cost_ms /
                  run_.at("top")[0].at("cost_ms").get<double>(),
              1, kSameCost);
  EXPECT_EQ(SamePlans(ours, run_), kTop);
}

TEST_P(MetisParityTest, CorrectedModeMakesNoInvalidPlan) {
  MetisSettings settings = SettingsOf(run_);
  settings.defects = {};
  const MetisInput input = InputOf(run_);
  const MetisRanking ours = RankMetisPlans(input, settings);
  ASSERT_FALSE(ours.plans.empty());
  EXPECT_EQ(ours.invalid, 0);
  for (const MetisPlan& plan : ours.plans) {
    EXPECT_EQ(plan.costed_stages, static_cast<int>(plan.stages.size()));
    EXPECT_EQ(plan.stages.back().end_layer, input.num_layers());
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, MetisParityTest, ::testing::ValuesIn(kRuns));

}  // namespace
}  // namespace tangram
