#include "common/sim/max_plus_program.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tangram {
namespace {

// Returns how often each time is read.
std::vector<int32_t> Reads(const MaxPlusProgram& program) {
  std::vector<int32_t> reads(program.num_inputs() + program.steps.size());
  for (const int32_t output : program.outputs) ++reads[output];
  for (size_t k = program.steps.size(); k-- > 0;) {
    if (reads[program.num_inputs() + k] == 0) continue;  // Not needed.
    const MaxPlusStep& step = program.steps[k];
    ++reads[step.a];
    if (step.b != step.a) ++reads[step.b];
  }
  return reads;
}

}  // namespace

MaxPlusProgram Simplified(const MaxPlusProgram& program) {
  const std::vector<int32_t> reads = Reads(program);
  const int32_t n = program.num_inputs();
  MaxPlusProgram simple;
  std::vector<int32_t> moved(reads.size());
  for (int32_t i = 0; i < n; ++i) moved[i] = i;
  for (size_t k = 0; k < program.steps.size(); ++k) {
    if (reads[n + k] == 0) continue;
    const MaxPlusStep& step = program.steps[k];
    const bool is_sum = step.a == step.b;
    // The step that an addition follows, if it can take the duration.
    const int32_t taken = moved[step.a] - n;
    if (is_sum && taken >= 0 && reads[step.a] == 1) {
      simple.steps[taken].duration += step.duration;
      moved[n + k] = moved[step.a];
      continue;
    }
    moved[n + k] = n + static_cast<int32_t>(simple.steps.size());
    simple.steps.push_back({moved[step.a], moved[step.b], step.duration});
  }
  for (const int32_t output : program.outputs) {
    simple.outputs.push_back(moved[output]);
  }
  return simple;
}

MaxPlusProgram OnlyRead(const MaxPlusProgram& program,
                        std::vector<int32_t>& read) {
  const std::vector<int32_t> reads = Reads(program);
  const int32_t n = program.num_inputs();
  std::vector<int32_t> moved(reads.size());
  read.clear();
  for (int32_t i = 0; i < n; ++i) {
    if (reads[i] == (program.outputs[i] == i ? 1 : 0)) continue;
    moved[i] = static_cast<int32_t>(read.size());
    read.push_back(i);
  }
  const int32_t num_read = static_cast<int32_t>(read.size());
  MaxPlusProgram result;
  for (size_t k = 0; k < program.steps.size(); ++k) {
    if (reads[n + k] == 0) continue;
    const MaxPlusStep& step = program.steps[k];
    moved[n + k] = num_read + static_cast<int32_t>(result.steps.size());
    result.steps.push_back({moved[step.a], moved[step.b], step.duration});
  }
  for (const int32_t i : read) {
    result.outputs.push_back(moved[program.outputs[i]]);
  }
  return result;
}

MaxPlusProgram SortedByDepth(const MaxPlusProgram& program) {
  const int32_t n = program.num_inputs();
  std::vector<int32_t> depths(n + program.steps.size());
  int32_t max_depth = 0;
  for (size_t k = 0; k < program.steps.size(); ++k) {
    const MaxPlusStep& step = program.steps[k];
    depths[n + k] = 1 + std::max(depths[step.a], depths[step.b]);
    max_depth = std::max(max_depth, depths[n + k]);
  }
  // next[d]: the place of the next step of depth d.
  std::vector<int32_t> next(max_depth + 2);
  for (size_t i = n; i < depths.size(); ++i) ++next[depths[i] + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<int32_t> moved(depths.size());
  std::iota(moved.begin(), moved.begin() + n, 0);
  MaxPlusProgram sorted;
  sorted.steps.resize(program.steps.size());
  for (size_t k = 0; k < program.steps.size(); ++k) {
    const MaxPlusStep& step = program.steps[k];
    const int32_t place = next[depths[n + k]]++;
    moved[n + k] = n + place;
    sorted.steps[place] = {moved[step.a], moved[step.b], step.duration};
  }
  for (const int32_t output : program.outputs) {
    sorted.outputs.push_back(moved[output]);
  }
  return sorted;
}

}  // namespace tangram
