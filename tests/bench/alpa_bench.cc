// Times whole queries to Alpa, and its dynamic program on the recorded fixtures
// of the original. compare_alpa runs the original beside it.
// TANGRAM_REFERENCE_DATA names the folder of the fixtures.

#include <algorithm>
#include <limits>

#include "benchmark/benchmark.h"
#include "tests/parity/alpa_fixtures.h"
#include "tests/parity/reference_data.h"
#include "tests/testing/builders.h"
#include "worker/adapters/alpa/alpa_adapter.h"

namespace tangram {
namespace {

// Arguments: layers, GPUs, with experts or not, GB of each GPU.
void BM_AlpaQuery(benchmark::State& state) {
  const int num_layers = static_cast<int>(state.range(0));
  const int num_gpus = static_cast<int>(state.range(1));
  const ModelSpec model = state.range(2) != 0
                              ? testing::TestMoeModel(num_layers, 2048)
                              : testing::TestModel(num_layers, 4096);
  const ModelSlice slice = testing::WholeSlice(model);
  IslandSpec island =
      testing::TestIsland((num_gpus + 7) / 8, std::min(num_gpus, 8));
  island.device.efficiency = DeviceEfficiency();
  island.device.memory_bytes = static_cast<double>(state.range(3)) * 1e9;
  const ParallelizeOptions options = {.training = testing::TestTraining(512),
                                      .pipeline_microbatch_size = 8};
  const auto alpa = CreateAlpaParallelizer();
  size_t num_plans = 0;
  for (auto _ : state) {
    num_plans = alpa->Parallelize(slice, island, options)->plans.size();
  }
  state.counters["plans"] = static_cast<double>(num_plans);
}
BENCHMARK(BM_AlpaQuery)
    ->Args({6, 4, 0, 80})
    ->Args({18, 8, 0, 80})
    ->Args({18, 16, 0, 80})
    ->Args({18, 16, 0, 24})
    ->Args({18, 16, 1, 80})
    ->Args({18, 16, 1, 24})
    ->Args({30, 32, 0, 24})
    ->Args({94, 16, 0, 80})
    ->Args({126, 1024, 0, 80})
    ->Unit(benchmark::kMillisecond);

void BM_AlpaInterOperator(benchmark::State& state) {
  const auto data =
      testing::ReadReferenceData("alpa/inter_op_dp_fixtures.json.gz");
  const auto index = static_cast<size_t>(state.range(0));
  if (!data || index >= (*data)["fixtures"].size()) {
    state.SkipWithError(testing::kNoReferenceData);
    return;
  }
  const auto& fixture = (*data)["fixtures"][index];
  const int microbatches = fixture["microbatches"];
  const alpa::InterOperatorProblem problem =
      testing::InterOperatorFixture(fixture);
  alpa::InterOperatorAnswer answer;
  for (auto _ : state) {
    answer = SolveInterOperator(problem, {.num_microbatches = microbatches});
  }
  double least = std::numeric_limits<double>::infinity();
  for (const alpa::ChosenPipeline& pipeline : answer.pipelines) {
    least = std::min(
        least, pipeline.latency_s + (microbatches - 1) * pipeline.slowest_s);
  }
  state.counters["total"] = least;
}
BENCHMARK(BM_AlpaInterOperator)
    ->DenseRange(0, 6)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tangram
