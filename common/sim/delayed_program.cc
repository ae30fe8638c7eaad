#include "common/sim/delayed_program.h"

#include <cstddef>
#include <utility>

namespace tangram {
namespace {

// Returns for each input whether all that reads it is the output of one other
// input.
std::vector<bool> OnlyMovesUp(const MaxPlusProgram& program) {
  const int32_t n = program.num_inputs();
  constexpr int kOften = 2;  // only "once" and "more than once" matter
  std::vector<int> reads(n);
  for (const MaxPlusStep& step : program.steps) {
    for (const int32_t i : {step.a, step.b}) {
      if (i < n) reads[i] = kOften;
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t from = program.outputs[i];
    if (from < n) reads[from] += from == i ? kOften : 1;
  }
  std::vector<bool> moves_up(n);
  for (int32_t i = 0; i < n; ++i) moves_up[i] = reads[i] == 1;
  return moves_up;
}

}  // namespace

DelayedProgram WithDelays(const MaxPlusProgram& program) {
  const int32_t n = program.num_inputs();
  std::vector<bool> moves_up = OnlyMovesUp(program);
  std::vector<int32_t> moved(n, -1);  // Places of the inputs that stay.
  DelayedProgram delayed;
  const auto add_queue = [&](int32_t first) {
    moved[first] = delayed.num_inputs();
    std::vector<int32_t> queue = {first};
    int32_t output = program.outputs[first];
    while (output < n && moves_up[output]) {
      moves_up[output] = false;
      queue.push_back(output);
      output = program.outputs[output];
    }
    delayed.queues.push_back(std::move(queue));
    delayed.outputs.push_back(output);
  };
  const std::vector<bool> waits = moves_up;
  for (int32_t i = 0; i < n; ++i) {
    if (!waits[i]) add_queue(i);
  }
  // The inputs that are left move in rings that no step reads.
  for (int32_t i = 0; i < n; ++i) {
    if (!moves_up[i]) continue;
    moves_up[i] = false;
    add_queue(i);
  }
  const auto place = [&](int32_t time) {
    return time < n ? moved[time] : time - n + delayed.num_inputs();
  };
  for (int32_t& output : delayed.outputs) output = place(output);
  delayed.steps.reserve(program.steps.size());
  for (const MaxPlusStep& step : program.steps) {
    delayed.steps.push_back({place(step.a), place(step.b), step.duration});
  }
  return delayed;
}

}  // namespace tangram
