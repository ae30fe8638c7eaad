#ifndef TANGRAM_TESTS_PARITY_MIST_RUNS_H_
#define TANGRAM_TESTS_PARITY_MIST_RUNS_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/parity/mist_tuning.h"

namespace tangram::mist::reference {

// A question to upstream's tuner and its answer: GPT-3 1.3B on L4.
struct RecordedRun {
  std::string name;
  TuningCase tuning;
  std::vector<Stage> plan;  // Upstream's plan.
  double iteration_s = 0;   // Upstream's prediction.
  double tuning_s = 0;      // Tuning time of upstream with two cores.
};

// Reads the parsed files mist/golden_runs_here.json and
// mist/hardware_comm_and_interference.json.
std::vector<RecordedRun> ReadRuns(const nlohmann::json& golden,
                                  const nlohmann::json& hardware);

}  // namespace tangram::mist::reference

#endif  // TANGRAM_TESTS_PARITY_MIST_RUNS_H_
