#include "tests/parity/amp_examples.h"

#include <algorithm>

namespace tangram::testing {
namespace {

using ::nlohmann::json;

constexpr double kHidden = 1024;
constexpr double kSequence = 1024;
constexpr double kVocabulary = 52256;

// The layers of one sample are in the original's units: fp32 elements.

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

}  // namespace

std::vector<int> AmpOriginalBounds(std::vector<int> bounds, bool is_gpt) {
  if (is_gpt) return bounds;
  const std::vector<int> working = WorkingLayers();
  for (size_t s = 1; s < bounds.size(); ++s) {
    bounds[s] = working[bounds[s] - 1] + 1;
  }
  bounds.back() = 56;
  return bounds;
}

std::vector<AmpExample> AmpExamples() {
  return {{"homogeneous", "gpt2", {kAmpSlow, kAmpSlow, kAmpSlow, kAmpSlow}},
          {"het_cluster", "gpt2", {kAmpFast, kAmpFast, kAmpFast, kAmpSlow}},
          {"het_model", "transgan", {kAmpFast, kAmpFast, kAmpFast, kAmpFast}}};
}

AmpInput AmpExampleInput(const json& profiles, const AmpExample& example,
                         const std::vector<double>& inter_bps,
                         const std::vector<double>& intra_bps, int batch) {
  AmpInput input{.cluster = ClusterOf(example.types, inter_bps, intra_bps),
                 .global_batch_size = batch,
                 .capacity_bytes = {0, 0}};
  const bool is_gpt = example.model == "gpt2";
  for (const int tp : {1, 2, 4}) {
    for (const AmpNode& node : input.cluster.nodes) {
      const std::vector<double> forward_s = ValuesOf(
          profiles, example.model, node.type == kAmpFast ? "P3" : "G4", tp);
      input.layers[{node.type, tp, 1}] =
          is_gpt ? Gpt2(forward_s, tp) : TransGan(forward_s, tp);
    }
  }
  input.first_block = is_gpt ? 2 : 0;
  input.num_blocks = 24;
  return input;
}

}  // namespace tangram::testing
