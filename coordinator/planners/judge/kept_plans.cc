#include "coordinator/planners/judge/kept_plans.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace tangram {

void KeptPlans::Add(uint32_t islands, KeptPlan plan) {
  const double seconds = plan.iteration_time_s();
  if (seconds > limit_s()) return;
  const auto [it, inserted] = fastest_.try_emplace(islands);
  const bool faster = inserted || seconds < it->second.iteration_time_s();
  if (faster) it->second = std::move(plan);
  if (seconds >= least_s_) return;
  least_s_ = seconds;
  std::erase_if(fastest_, [this](const auto& kept) {
    return kept.second.iteration_time_s() > limit_s();
  });
}

KeptPlan KeptPlans::Take(int index) {
  const auto it = std::find_if(
      fastest_.begin(), fastest_.end(),
      [&](const auto& kept) { return kept.second.index == index; });
  TANGRAM_CHECK(it != fastest_.end());
  return std::move(it->second);
}

}  // namespace tangram
