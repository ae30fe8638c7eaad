#include "coordinator/planners/portfolio/mix_rules.h"

#include "absl/algorithm/container.h"

namespace tangram {

std::vector<const Runtime*> Widest(absl::Span<const Runtime> runtimes) {
  std::vector<const Runtime*> widest;
  for (const Runtime& runtime : runtimes) {
    const bool covered = absl::c_any_of(runtimes, [&](const Runtime& other) {
      return &other != &runtime && Covers(other, runtime) &&
             (!Covers(runtime, other) || &other < &runtime);
    });
    if (!covered) widest.push_back(&runtime);
  }
  return widest;
}

PipelineRules RulesOf(const Runtime& runtime) {
  return {.runtime = &runtime,
          .stages = {.residual_cuts = runtime.cuts == Runtime::Cuts::kResiduals,
                     .closed_recompute =
                         runtime.recompute == Runtime::Recompute::kClosed}};
}

}  // namespace tangram
