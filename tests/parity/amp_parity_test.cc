// The answers of the original program for its three examples: 171 predictions
// to four digits, with their splits. And for two clusters of 64 and 128 GPUs,
// as far as it came in ten minutes.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "coordinator/planners/rivals/amp/amp_search.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/parity/reference_data.h"

namespace tangram {
namespace {

using ::nlohmann::json;
using testing::kNoReferenceData;
using testing::ReadReferenceData;

constexpr double kHidden = 1024;
constexpr double kSequence = 1024;
constexpr double kVocabulary = 52256;
constexpr int kFast = 0;  // Types of nodes.
constexpr int kSlow = 1;

// The layers of one sample in the original's units: fp32 elements.
using LayersOfTp = std::vector<AmpLayer> (*)(const std::vector<double>&, int);

// Its profiles are of forward passes. A backward pass counts twice.
AmpLayer LayerOf(double forward_s, double boundary) {
  return {.pass_s = 3 * forward_s, .boundary = boundary};
}

// Embedding, nothing, 24 blocks, nothing, nothing, head, nothing.
std::vector<AmpLayer> Gpt2(const std::vector<double>& forward_s, int tp) {
  std::vector<AmpLayer> layers;
  for (int l = 0; l < 30; ++l) {
    const bool after_head = l >= 28;
    layers.push_back(LayerOf(forward_s[l], after_head
                                               ? kSequence * kVocabulary / tp
                                               : kSequence * kHidden));
    const bool is_block = l >= 2 && l < 26;
    if (is_block) layers.back().reduced = 12 * kHidden * kHidden / tp;
  }
  layers[0].reduced = kHidden * kVocabulary / tp;
  layers[28].reduced = layers[28].copied = layers[0].reduced;
  return layers;
}

// Layers of TransGAN's 56 that the original cuts between: the first, and two
// runs of twelve blocks.
std::vector<int> WorkingLayers() {
  std::vector<int> working = {0};
  for (int l = 3; l < 15; ++l) working.push_back(l);
  for (int l = 41; l < 53; ++l) working.push_back(l);
  return working;
}

std::vector<AmpLayer> TransGan(const std::vector<double>& forward_s, int tp) {
  std::vector<AmpLayer> layers;
  for (const int l : WorkingLayers()) {
    layers.push_back(LayerOf(forward_s[l], kHidden * 9 * 9));
    const double width = l < 15 ? kHidden : kHidden / 64;
    if (l > 0) layers.back().reduced = 12 * width * width / tp;
  }
  return layers;
}

std::vector<double> ValuesOf(const json& profiles, const std::string& model,
                             const std::string& machine, int tp) {
  return profiles["profiles"][model + "_" + machine + "_" + std::to_string(tp)]
                 ["values"];
}

// Adds `count` nodes of a group of their own. Rates are given in bits.
void AddNode(int type, double inter_bps, double intra_bps, AmpCluster& cluster,
             std::vector<double>& inter) {
  const int group = static_cast<int>(cluster.nodes.size());
  cluster.nodes.push_back({.type = type, .group = group, .gpus = 4});
  cluster.inside.push_back(intra_bps / 32);
  inter.push_back(inter_bps / 32);
}

AmpCluster ClusterOf(const std::vector<int>& types,
                     const std::vector<double>& inter_bps,
                     const std::vector<double>& intra_bps) {
  AmpCluster cluster;
  std::vector<double> inter;
  for (size_t n = 0; n < types.size(); ++n) {
    AddNode(types[n], inter_bps[n], intra_bps[n], cluster, inter);
  }
  for (const double from : inter) {
    std::vector<double>& row = cluster.between.emplace_back();
    for (const double to : inter) row.push_back(std::min(from, to));
  }
  return cluster;
}

AmpInput InputOf(const json& profiles, const std::string& model,
                 const AmpCluster& cluster, int batch, LayersOfTp layers) {
  AmpInput input{
      .cluster = cluster, .global_batch_size = batch, .capacity_bytes = {0, 0}};
  for (const int tp : {1, 2, 4}) {
    for (const AmpNode& node : cluster.nodes) {
      input.layers[{node.type, tp, 1}] = layers(
          ValuesOf(profiles, model, node.type == kFast ? "P3" : "G4", tp), tp);
    }
  }
  const bool is_gpt = model == "gpt2";
  input.first_block = is_gpt ? 2 : 0;
  input.num_blocks = 24;
  return input;
}

using Strategy = std::vector<int>;  // tp, dp, samples

std::map<Strategy, AmpPlan> ByStrategy(const AmpAnswer& answer) {
  std::map<Strategy, AmpPlan> plans;
  for (const AmpPlan& plan : answer.plans) {
    plans[{plan.tp_degree, plan.dp_degree, plan.samples}] = plan;
  }
  return plans;
}

// In the original's list of layers, whose last stage has all that is left.
std::vector<int> OriginalBounds(std::vector<int> bounds, bool is_gpt) {
  if (is_gpt) return bounds;
  const std::vector<int> working = WorkingLayers();
  for (size_t s = 1; s < bounds.size(); ++s) {
    bounds[s] = working[bounds[s] - 1] + 1;
  }
  bounds.back() = 56;
  return bounds;
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
    EXPECT_EQ(OriginalBounds(plan->second.bounds, is_gpt),
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

struct Example {
  friend void PrintTo(const Example& example, std::ostream* out) {
    *out << example.name;
  }

  std::string name;
  std::string model;
  LayersOfTp layers;
  std::vector<int> types;
};

class AmpParityTest : public ::testing::TestWithParam<Example> {};

TEST_P(AmpParityTest, PredictsAndSplitsAsTheOriginal) {
  const Example& example = GetParam();
  const auto profiles = ReadReferenceData("amp/inputs_profiles.json");
  const auto settings = ReadReferenceData("amp/inputs_settings.json");
  const auto run =
      ReadReferenceData("amp/runs/sample_" + example.name + ".json");
  if (!profiles || !settings || !run) GTEST_SKIP() << kNoReferenceData;
  const json& setting = (*settings)["settings"][example.name];
  ExpectAnswers(InputOf(*profiles, example.model,
                        ClusterOf(example.types, setting["inter_bps"],
                                  setting["intra_bps"]),
                        setting["gbs"], example.layers),
                *run, example.model == "gpt2");
}

INSTANTIATE_TEST_SUITE_P(
    Examples, AmpParityTest,
    ::testing::Values(
        Example{"homogeneous", "gpt2", Gpt2, {kSlow, kSlow, kSlow, kSlow}},
        Example{"het_cluster", "gpt2", Gpt2, {kFast, kFast, kFast, kSlow}},
        Example{
            "het_model", "transgan", TransGan, {kFast, kFast, kFast, kFast}}),
    [](const auto& test) { return test.param.name; });

class AmpLargeParityTest : public ::testing::TestWithParam<int> {};

TEST_P(AmpLargeParityTest, PredictsAndSplitsAsTheOriginal) {
  const auto profiles = ReadReferenceData("amp/inputs_profiles.json");
  const auto run = ReadReferenceData("amp/runs/amp_het" +
                                     std::to_string(GetParam()) + ".json");
  if (!profiles || !run) GTEST_SKIP() << kNoReferenceData;
  const int nodes = (*run)["nodes"];
  const int slow = (*run)["slow_nodes_T4"];
  std::vector<int> types(nodes - slow, kFast);
  std::vector<double> inter_bps(nodes - slow, 10e9);
  std::vector<double> intra_bps(nodes - slow, 170e9);
  types.resize(nodes, kSlow);
  inter_bps.resize(nodes, 50e9);
  intra_bps.resize(nodes, 50e9);
  ExpectAnswers(
      InputOf(*profiles, "gpt2", ClusterOf(types, inter_bps, intra_bps),
              (*run)["gbs"], Gpt2),
      *run, /*is_gpt=*/true);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AmpLargeParityTest, ::testing::Values(64, 128),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tangram
