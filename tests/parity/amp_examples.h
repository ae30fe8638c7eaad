#ifndef TANGRAM_TESTS_PARITY_AMP_EXAMPLES_H_
#define TANGRAM_TESTS_PARITY_AMP_EXAMPLES_H_

#include <string>
#include <vector>

#include "coordinator/planners/rivals/amp/amp_input.h"
#include "nlohmann/json.hpp"

// The examples that AMP (NeurIPS 2022) ships, as inputs of our search.
namespace tangram::testing {

enum AmpNodeType { kAmpFast, kAmpSlow };  // p3.8xlarge and g4dn.

struct AmpExample {
  std::string name;
  std::string model;       // "gpt2" or "transgan".
  std::vector<int> types;  // One a node.
};

std::vector<AmpExample> AmpExamples();

// `profiles`: {"profiles": {"gpt2_P3_1": {"values": [...]}}}, the forward
// seconds of one sample by layer. Rates are in bits/s, by node.
AmpInput AmpExampleInput(const nlohmann::json& profiles,
                         const AmpExample& example,
                         const std::vector<double>& inter_bps,
                         const std::vector<double>& intra_bps, int batch);

// Layers of TransGAN's 56 that the original cuts between: the first, and two
// runs of twelve blocks.
std::vector<int> AmpWorkingLayers();

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_PARITY_AMP_EXAMPLES_H_
