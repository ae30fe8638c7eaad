#include "coordinator/planners/rivals/sailor/stage_memory.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "common/base/infinity.h"

namespace tangram::sailor {
namespace {

// Bytes short of a stage on the type and degree that come closest.
double StageShort(const Input& input, int samples, const Split& split,
                  int stage) {
  double least = kInfinity;
  for (const auto& [key, profile] : input.profiles) {
    const int type = key.type;
    const bool present =
        std::any_of(input.zones.begin(), input.zones.end(),
                    [type](const Zone& zone) { return zone.gpus[type] > 0; });
    if (!present || key.samples != samples) continue;
    least = std::min(least, StageBytes(profile, split, stage) -
                                input.types[key.type].memory_bytes);
  }
  return least;
}

}  // namespace

Split SplitEvenly(int layers, int stages) {
  const int shorter = stages - layers % stages;
  Split split;
  int begin = 0;
  for (int i = 0; i < stages; ++i) {
    const int size = layers / stages + (i < shorter ? 0 : 1);
    split.emplace_back(begin, size);
    begin += size;
  }
  return split;
}

double StageBytes(const Profile& profile, const Split& split, int stage) {
  const auto [begin, size] = split[stage];
  double state = 0;
  double activations = 0;
  double transient = 0;
  for (int i = begin; i < begin + size; ++i) {
    const LayerFigures& layer = profile.layers[i];
    state += layer.state_bytes;
    activations += layer.activation_bytes;
    transient = std::max(transient, layer.transient_bytes);
  }
  const int in_flight = static_cast<int>(split.size()) - stage;
  return state + activations * in_flight + transient + profile.reserved_bytes;
}

double MemoryShort(const Input& input) {
  int64_t gpus = 0;
  for (const Zone& zone : input.zones) {
    for (const int count : zone.gpus) gpus += count;
  }
  std::set<int> sizes;
  for (const auto& [key, profile] : input.profiles) sizes.insert(key.samples);
  const int layers = static_cast<int>(input.gradient_bytes.size());
  double least = kInfinity;
  for (const int samples : sizes) {
    for (int stages = 1; stages <= std::min<int64_t>(layers, gpus); ++stages) {
      const Split split = SplitEvenly(layers, stages);
      double most = 0;
      for (int stage = 0; stage < stages; ++stage) {
        most = std::max(most, StageShort(input, samples, split, stage));
      }
      least = std::min(least, most);
    }
  }
  return least < kInfinity ? least : 0;
}

}  // namespace tangram::sailor
