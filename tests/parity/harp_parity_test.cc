// Ten searches by another implementation of the same program: costs to 1e-6.

#include <string>
#include <utility>
#include <vector>

#include "coordinator/planners/rivals/harp/harp_search.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/parity/reference_data.h"

namespace tangram {
namespace {

using ::nlohmann::json;
using testing::kNoReferenceData;
using testing::ReadReferenceData;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kMiB = 1024.0 * 1024;
constexpr double kInsideLatency_s = 1e-5;

// Profiles give the memory of a layer for 1, 2, 4 ... samples. The part that
// does not grow with the samples is its state.
std::vector<HarpLayer> LayersOf(const json& of_tp, int samples) {
  const json& profile = of_tp["mbs" + std::to_string(samples)];
  const json& one = of_tp["mbs1"]["layer_mem_mb"];
  const json& two = of_tp["mbs2"]["layer_mem_mb"];
  std::vector<HarpLayer> layers;
  for (size_t l = 0; l < one.size(); ++l) {
    const double state_mb = 2 * one[l].get<double>() - two[l].get<double>();
    const double all_mb = profile["layer_mem_mb"][l];
    layers.push_back(
        {.pass_s = profile["layer_fwd_bwd_ms"][l].get<double>() * 1e-3,
         .state_bytes = state_mb * kMiB,
         .activation_bytes = (all_mb - state_mb) * kMiB});
  }
  return layers;
}

std::vector<HarpShape> ShapesOf(const json& of_type, int samples,
                                int gpus_per_host) {
  std::vector<HarpShape> shapes;
  for (int n = 1; n <= gpus_per_host; n *= 2) {
    for (int tp = 1; tp <= n; tp *= 2) {
      const int dp = n / tp;
      if (samples % dp != 0) continue;
      const json& of_tp = of_type["tp" + std::to_string(tp)];
      if (!of_tp.contains("mbs" + std::to_string(samples / dp))) continue;
      shapes.push_back({.dp_degree = dp,
                        .tp_degree = tp,
                        .layers = LayersOf(of_tp, samples / dp)});
    }
  }
  return shapes;
}

HarpInput InputOf(const json& run, const json& profiles) {
  const int samples = run["microbatch"];
  HarpInput input{.num_microbatches = run["num_microbatches"]};
  for (const std::string type : run["order"]) {
    const json& cluster = run["clusters"][type];
    const int gpus = cluster["gpus_per_node"];
    input.clusters.push_back(
        {.num_hosts = cluster["nodes"],
         .gpus_per_host = gpus,
         .capacity_bytes = cluster["mem_gb"].get<double>() * kGiB,
         .inside = {cluster["bw_intra_cluster"].get<double>() * kGiB,
                    kInsideLatency_s},
         .onwards = {run["inter_cluster_bw_GBps"].get<double>() * kGiB,
                     run["latency_s"].get<double>()},
         .shapes = ShapesOf(profiles["profiles"][type], samples, gpus)});
  }
  for (const json& bytes : profiles["model"]["activation_bytes_per_layer"]) {
    input.border_bytes.push_back(2 * samples * bytes.get<double>());
  }
  return input;
}

class HarpParityTest : public ::testing::TestWithParam<std::string> {};

TEST_P(HarpParityTest, FindsThePlan) {
  const std::string& name = GetParam();
  const std::string model =
      name.find("opt350") != std::string::npos ? "opt-350" : "gpt-neo-2.7";
  const auto run = ReadReferenceData("harp/" + name + ".json");
  const auto profiles = ReadReferenceData("metis/inputs_profile_" + model +
                                          "_a100-40_v100-16_sailor.json");
  if (!run || !profiles) GTEST_SKIP() << kNoReferenceData;
  const HarpInput input = InputOf(*run, *profiles);
  const HarpAnswer answer = SearchHarp(input, nullptr);
  const json& expected = (*run)["result"];
  ASSERT_EQ(!answer.stages.empty(), expected["feasible"].get<bool>());
  if (answer.stages.empty()) return;
  EXPECT_NEAR(answer.predicted_s, expected["cost_s"].get<double>(), 1e-6);
  EXPECT_EQ(answer.first_feasible, expected["first_feasible_index"].get<int>());
  // Borders inside a cluster may differ, where other ones cost the same.
  ASSERT_EQ(answer.stages.size(), expected["stages"].size());
  for (size_t s = 0; s < answer.stages.size(); ++s) {
    const HarpStage& stage = answer.stages[s];
    const json& other = expected["stages"][s];
    SCOPED_TRACE(other.dump());
    EXPECT_EQ(stage.cluster, other["cluster"].get<int>());
    const HarpShape& shape = input.clusters[stage.cluster].shapes[stage.shape];
    EXPECT_EQ(shape.dp_degree, other["dp"].get<int>());
    EXPECT_EQ(shape.tp_degree, other["tp"].get<int>());
    EXPECT_EQ(stage.warm_up, other["launch_microbatches"].get<int>());
    EXPECT_NEAR(stage.transfer_s, other["comm_s"].get<double>(), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, HarpParityTest,
    ::testing::Values("av16_neo27_mb1_AV", "av16_neo27_mb1_VA",
                      "av16_neo27_mb2_AV", "av16_neo27_mb2_VA",
                      "av16_neo27_mb4_AV", "av16_neo27_mb4_VA",
                      "av16_opt350_mb4_AV", "av16_opt350_mb4_VA",
                      "av64_neo27_mb4_VA", "av128_neo27_mb4_VA"),
    [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tangram
