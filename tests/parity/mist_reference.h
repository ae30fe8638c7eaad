#ifndef TANGRAM_TESTS_PARITY_MIST_REFERENCE_H_
#define TANGRAM_TESTS_PARITY_MIST_REFERENCE_H_

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/parity/mist_formula.h"
#include "worker/adapters/mist/inter_stage.h"

// Reads the records of Mist's tuner.
namespace tangram::mist::reference {

// Returns hardware by the recorded runs' names: "l4", "a100", "v100-16",
// "v100-32".
std::map<std::string, Hardware> ReadHardware(const nlohmann::json& file);

// Returns op latencies by samples of a replica.
std::map<int, PieceTable> ReadSeconds(const nlohmann::json& golden);

// Reads [b, dp, tp, ws, gs, os, wo, go, oo, ao].
Policy ReadPolicy(const nlohmann::json& strategy);

// One mixed-integer program of upstream's inter-stage tuning.
struct InterStageMilp {
  std::string name;
  int num_layers = 0;
  int num_stages = 0;
  int num_microbatches = 0;
  double slowest_bound_s =
      0;  // From the best objective of the programs before it.
  // By stage and number of layers.
  std::vector<std::map<int, std::vector<StagePolicy>>> policies;
};

// Reads a tar archive of MPS files, sorted by name.
std::vector<InterStageMilp> ReadMilps(const std::string& archive);

}  // namespace tangram::mist::reference

#endif  // TANGRAM_TESTS_PARITY_MIST_REFERENCE_H_
