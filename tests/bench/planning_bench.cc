// Times islands, enumeration, composition, evaluation and whole plans at three
// sizes: 16, 128 and 1,024 GPUs.

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "common/domain/model_slice.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/bounds/slice_table.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/islands/build_islands.h"
#include "formats/catalogue/models.h"
#include "formats/config/cluster_file.h"
#include "tests/testing/planning/planning.h"

namespace tangram {
namespace {

struct Workload {
  std::string cluster_file;
  std::string model;
  int global_batch_size;
  int num_islands;
};

Workload WorkloadOf(int64_t size) {
  switch (size) {
    case 0:
      return {"c1-compute-het.yaml", "gpt3-6.7b", 128, 2};
    case 1:
      return {"het-128.yaml", "llama3-70b", 512, 3};
    default:
      return {"het-1024.yaml", "llama3-405b", 2048, 4};
  }
}

PlanRequest RequestOf(const Workload& workload) {
  return {.cluster = *LoadClusterFile(absl::StrCat(
              TANGRAM_SOURCE_DIR, "/deploy/clusters/", workload.cluster_file)),
          .model = *BuiltinModel(workload.model),
          .training = {.global_batch_size = workload.global_batch_size,
                       .sequence_length = 2048}};
}

void BM_Islands(benchmark::State& state) {
  const PlanRequest request = RequestOf(WorkloadOf(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        BuildIslands(request.cluster, Precision::kFp16, {}, {}, {}));
  }
}
BENCHMARK(BM_Islands)->DenseRange(0, 2);

void BM_Enumeration(benchmark::State& state) {
  const Workload workload = WorkloadOf(state.range(0));
  const std::vector<ModelSlice> atoms =
      SliceByLayer(*BuiltinModel(workload.model));
  for (auto _ : state) {
    benchmark::DoNotOptimize(SliceTable(atoms, /*merge_equal=*/true));
  }
}
BENCHMARK(BM_Enumeration)->DenseRange(0, 2);

// Returns candidates as a parallelizer would: for each slice length, a few
// plans that trade the slowest stage against latency, with some noise.
std::vector<PairCandidates> SyntheticCandidates(int num_atoms, int island) {
  std::mt19937 rng(island);
  std::uniform_real_distribution<double> noise(0.97, 1.03);
  std::vector<PairCandidates> by_length(num_atoms + 1);
  for (int length = 1; length <= num_atoms; ++length) {
    by_length[length].covers_trailing_stages = kUnlimitedTrailingStages;
    for (int stages = 1; stages <= 8; stages *= 2) {
      const double slowest_s = length * noise(rng) / (1.0 + island);
      const double latency_s = slowest_s * stages;
      by_length[length].candidates.push_back(
          {.slowest_s = slowest_s / (1 + 0.02 * stages),
           .latency_s = latency_s,
           .last_stage_s = slowest_s / (1 + 0.02 * stages),
           .backward_s = latency_s * 2 / 3,
           .exposed_sync_s = 0.1 * slowest_s / stages,
           .num_stages = stages,
           .max_trailing_stages = 40 - length / stages,
           .first_stage_gpus = 8 / stages,
           .last_stage_gpus = 8 / stages});
    }
  }
  return by_length;
}

void BM_Composition(benchmark::State& state) {
  const Workload workload = WorkloadOf(state.range(0));
  const int num_atoms = BuiltinModel(workload.model)->num_layers();
  std::vector<std::vector<PairCandidates>> candidates;
  ComposeProblem problem{
      .num_atoms = num_atoms,
      .num_islands = workload.num_islands,
      .num_microbatches = 64,
      .transfer_s = [](int, int, int, int, int) { return 0.01; },
      .atom_work = std::vector<double>(num_atoms, 1.0),
      .slack = TangramOptions().finalist_slack};
  for (int island = 0; island < workload.num_islands; ++island) {
    candidates.push_back(SyntheticCandidates(num_atoms, island));
  }
  for (int island = 0; island < workload.num_islands; ++island) {
    for (int begin = 0; begin < num_atoms; ++begin) {
      for (int end = begin + 1; end <= num_atoms; ++end) {
        problem.pairs.push_back(
            {{begin, end}, island, &candidates[island][end - begin]});
      }
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(ComposePipelines(problem));
}
BENCHMARK(BM_Composition)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void BM_Evaluation(benchmark::State& state) {
  const PlanRequest request = RequestOf(WorkloadOf(state.range(0)));
  const PlanResult result = *testing::PlanLocally(request, "uniform", {}, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(EvaluatePlan(request.model, request.cluster,
                                          request.training, *result.plan));
  }
}
BENCHMARK(BM_Evaluation)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void BM_Plan(benchmark::State& state) {
  const PlanRequest request = RequestOf(WorkloadOf(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(testing::PlanLocally(request, "uniform", {}, 0));
  }
}
BENCHMARK(BM_Plan)
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tangram
