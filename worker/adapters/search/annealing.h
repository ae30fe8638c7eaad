#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_ANNEALING_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_ANNEALING_H_

#include <optional>
#include <random>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace tangram {

// Temperatures are relative. At 0.1, a move to 10 % more energy is accepted
// with probability 1/e.
struct AnnealingSchedule {
  double first_temperature = 0;
  double last_temperature = 0;
  int moves = 0;  // The temperature falls by the same factor after each move.
};

// Walks over numbered states by simulated annealing (Kirkpatrick, Gelatt,
// Vecchi, Science 1983). Starts at `start` and proposes one random neighbour at
// a time. A rise of energy by the fraction r is accepted with probability
// exp(-r / temperature). `energy` returns a positive number, or nothing to end
// the walk; the caller records the states for which it was asked. The same
// generator state gives the same walk.
void Anneal(int start, const AnnealingSchedule& schedule,
            absl::FunctionRef<absl::Span<const int>(int)> neighbours,
            absl::FunctionRef<std::optional<double>(int)> energy,
            std::mt19937_64& random);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_ANNEALING_H_
