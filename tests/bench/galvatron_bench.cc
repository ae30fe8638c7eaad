// Times our kernel on Galvatron's recorded searches, and our own searches.
//
// Usage: galvatron_bench [name of a recorded search...]
// With names, prints the CPU milliseconds of each and the iteration time of its
// plan. Without names, prints the CPU milliseconds of all, and of slice
// queries.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "common/domain/model_slice.h"
#include "formats/catalogue/models.h"
#include "tests/parity/galvatron_search.h"
#include "tests/testing/builders.h"
#include "worker/adapters/galvatron/galvatron_search.h"

namespace tangram {
namespace {

// Returns CPU milliseconds, the best of five runs.
double BestMs(absl::FunctionRef<void()> run) {
  double best_ms = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const std::clock_t start = std::clock();
    run();
    best_ms =
        std::min(best_ms, 1e3 * static_cast<double>(std::clock() - start) /
                              CLOCKS_PER_SEC);
  }
  return best_ms;
}

void SolveRecorded(const std::vector<std::string>& names) {
  const std::vector<parity::GalvatronRun> runs = parity::ReadGalvatronRuns();
  if (runs.empty()) {
    std::printf("no recorded searches: TANGRAM_REFERENCE_DATA names none\n");
    return;
  }
  const parity::GalvatronProfile profile = parity::ReadGalvatronProfile();
  for (const parity::GalvatronRun& run : runs) {
    if (!names.empty() && !absl::c_linear_search(names, run.name)) continue;
    double time_s = 0;
    const double ms =
        BestMs([&] { time_s = parity::SolveGalvatron(profile, run).time_s; });
    std::printf("%s %.3f %.9f\n", run.name.c_str(), ms, time_s);
  }
}

void SolveSlices() {
  const ModelSpec model = *BuiltinModel("gpt3-6.7b");
  for (const int num_layers : {5, 10, 20, 34}) {
    const ModelSlice slice = MakeSlice(
        {0, num_layers}, absl::MakeSpan(model.layers).first(num_layers));
    for (const int num_nodes : {1, 2, 4}) {
      const IslandSpec island = testing::TestIsland(num_nodes, 8);
      const ParallelizeOptions options = {
          .training = {.global_batch_size = 128, .sequence_length = 2048},
          .pipeline_microbatch_size = 8};
      SlicePlanSet answer;
      const double ms = BestMs(
          [&] { answer = galvatron::SearchGalvatron(slice, island, options); });
      std::printf("slice of %d layers on %d GPUs %.3f (%zu plans)\n",
                  num_layers, island.num_gpus(), ms, answer.plans.size());
    }
  }
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  const std::vector<std::string> names(argv + 1, argv + argc);
  tangram::SolveRecorded(names);
  if (names.empty()) tangram::SolveSlices();
  return 0;
}
