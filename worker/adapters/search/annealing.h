#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_ANNEALING_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_ANNEALING_H_

#include <optional>
#include <random>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace tangram {

// Temperatures are relative: at 0.1 a move to 10 % more energy is made with
// probability 1/e.
struct AnnealingSchedule {
  double first_temperature = 0;
  double last_temperature = 0;
  int moves = 0;  // Cools by the same factor after each.
};

// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983) over numbered
// states, from `start` to a random neighbour at a time. What it finds is what
// `energy` has been asked for: that returns a positive number, or nothing to
// end the walk. The same generator state gives the same walk.
void Anneal(int start, const AnnealingSchedule& schedule,
            absl::FunctionRef<absl::Span<const int>(int)> neighbours,
            absl::FunctionRef<std::optional<double>(int)> energy,
            std::mt19937_64& random);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_ANNEALING_H_
