#ifndef TANGRAM_TESTS_PARITY_GALVATRON_SEARCH_H_
#define TANGRAM_TESTS_PARITY_GALVATRON_SEARCH_H_

#include <limits>
#include <vector>

#include "tests/parity/galvatron_cost.h"

// Galvatron's own problem, solved with our adapter's kernel: its strategies,
// its enumeration of microbatch counts and pipeline depths, its cost model.
namespace tangram::parity {

struct GalvatronPlan {
  int chunks = 0;                     // Number of microbatches.
  LayerStrategy ends;                 // For embedding and head.
  std::vector<LayerStrategy> layers;  // One for each layer.
};

struct GalvatronAnswer {
  GalvatronPlan plan;
  double time_s = std::numeric_limits<double>::infinity();  // An iteration.
  int num_tasks = 0;
};

// Returns the strategies of a layer at one pipeline depth, or at any (0).
std::vector<LayerStrategy> LayerStrategies(const GalvatronProfile& profile,
                                           const GalvatronRun& run, int pp);

GalvatronAnswer SolveGalvatron(const GalvatronProfile& profile,
                               const GalvatronRun& run);

// Returns a plan's time by the published formula.
double ScoreOf(const GalvatronProfile& profile, const GalvatronRun& run,
               const GalvatronPlan& plan);

}  // namespace tangram::parity

#endif  // TANGRAM_TESTS_PARITY_GALVATRON_SEARCH_H_
