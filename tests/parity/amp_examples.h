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

// The bounds in the original's list of layers, whose last stage has all that is
// left.
std::vector<int> AmpOriginalBounds(std::vector<int> bounds, bool is_gpt);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_PARITY_AMP_EXAMPLES_H_
