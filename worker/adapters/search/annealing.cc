#include "worker/adapters/search/annealing.h"

#include <cmath>

namespace tangram {
namespace {

// Returns a number in [0, 1). The standard fixes the generators' output, but
// not that of its distributions.
double Uniform(std::mt19937_64& random) {
  // A double holds 53 bits, so the conversion is exact.
  constexpr int kMantissaBits = 53;
  return std::ldexp(static_cast<double>(random() >> (64 - kMantissaBits)),
                    -kMantissaBits);
}

}  // namespace

void Anneal(int start, const AnnealingSchedule& schedule,
            absl::FunctionRef<absl::Span<const int>(int)> neighbours,
            absl::FunctionRef<std::optional<double>(int)> energy,
            std::mt19937_64& random) {
  std::optional<double> here_energy = energy(start);
  if (!here_energy.has_value()) return;
  const double cooling =
      std::pow(schedule.last_temperature / schedule.first_temperature,
               1.0 / schedule.moves);
  // Geometric cooling: after `moves` moves the temperature is last_temperature.
  double temperature = schedule.first_temperature;
  int here = start;
  for (int move = 0; move < schedule.moves; ++move, temperature *= cooling) {
    const absl::Span<const int> around = neighbours(here);
    if (around.empty()) return;
    const int there = around[random() % around.size()];
    const std::optional<double> there_energy = energy(there);
    if (!there_energy.has_value()) return;
    // Metropolis's rule with a relative rise r: accept if r <= 0, else with
    // probability exp(-r / temperature).
    const double rise = *there_energy / *here_energy - 1;
    if (rise <= 0 || Uniform(random) < std::exp(-rise / temperature)) {
      here = there;
      here_energy = there_energy;
    }
  }
}

}  // namespace tangram
