#ifndef TANGRAM_COMMON_SIM_DELAYED_PROGRAM_H_
#define TANGRAM_COMMON_SIM_DELAYED_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "common/sim/max_plus_program.h"

namespace tangram {

// A max-plus program whose queues take no work. In a run, a waiting time only
// moves up by one place, so only the first place of a queue is an input. It has
// the value that its output had as many runs ago as the queue has places.
struct DelayedProgram {
  std::vector<MaxPlusStep> steps;
  std::vector<int32_t> outputs;
  // By input: the inputs of the whole program that become it, itself first.
  std::vector<std::vector<int32_t>> queues;

  int32_t num_inputs() const { return static_cast<int32_t>(outputs.size()); }
  // In runs.
  int64_t delay(int32_t input) const {
    return static_cast<int64_t>(queues[input].size());
  }
};

DelayedProgram WithDelays(const MaxPlusProgram& program);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_DELAYED_PROGRAM_H_
