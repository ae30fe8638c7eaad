#ifndef TANGRAM_TESTS_PARITY_GALVATRON_SEARCH_H_
#define TANGRAM_TESTS_PARITY_GALVATRON_SEARCH_H_

#include <limits>
#include <vector>

#include "tests/parity/galvatron_cost.h"

// Galvatron's own problem, solved with the kernel of our adapter: its
// strategies, its enumeration of microbatch counts and pipeline depths, its
// cost model.
namespace tangram::parity {

struct GalvatronAnswer {
  double time_s = std::numeric_limits<double>::infinity();  // Of an iteration.
  int chunks = 0;
  LayerStrategy ends;                 // Embedding and head.
  std::vector<LayerStrategy> layers;  // One a layer.
  std::vector<int> stage_layers;
  int num_tasks = 0;
  int num_solved = 0;  // Tasks that a bound did not rule out.
};

// The ways to run a layer: at one pipeline depth, or at any (0).
std::vector<LayerStrategy> LayerStrategies(const GalvatronProfile& profile,
                                           const GalvatronRun& run, int pp);

GalvatronAnswer SolveGalvatron(const GalvatronProfile& profile,
                               const GalvatronRun& run);

// An answer's time by the published formula alone, from its strategies.
double ScoreOf(const GalvatronProfile& profile, const GalvatronRun& run,
               const GalvatronAnswer& answer);

}  // namespace tangram::parity

#endif  // TANGRAM_TESTS_PARITY_GALVATRON_SEARCH_H_
