// The pruning ablation of the paper's §6.4: GPT-3 6.7B on 8 T4 and 8 V100, with
// one policy after another switched on. Exits with 1 if a pruning policy
// changes the plan. Without any, the slice plans exceed kMaxAnswerBytes, so the
// search ends before it has a plan. The last row, early stop, is no pruning
// policy: it spends less effort on small slices, so parallelizers that search
// by steps may find other slice plans.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "formats/catalogue/models.h"
#include "formats/config/cluster_file.h"
#include "formats/config/limit_nodes.h"
#include "tests/testing/planning/planning.h"

namespace tangram {
namespace {

struct Row {
  const char* name;
  PruningOptions pruning;
};

constexpr PruningOptions kNone = {.redundancy = false,
                                  .imbalance = false,
                                  .infeasibility = false,
                                  .incompatibility = false,
                                  .early_stop = false};

PruningOptions WithRedundancy() {
  PruningOptions pruning = kNone;
  pruning.redundancy = true;
  return pruning;
}

PruningOptions WithImbalance() {
  PruningOptions pruning = WithRedundancy();
  pruning.imbalance = true;
  return pruning;
}

PruningOptions WithInfeasibility() {
  PruningOptions pruning = WithImbalance();
  pruning.infeasibility = true;
  pruning.incompatibility = true;
  return pruning;
}

int Main(int64_t effort) {
  PlanRequest request{
      .cluster = *LoadClusterFile(std::string(TANGRAM_SOURCE_DIR) +
                                  "/deploy/clusters/c1-compute-het.yaml"),
      .model = *BuiltinModel("gpt3-6.7b"),
      .training = {.global_batch_size = 128, .sequence_length = 2048}};
  const absl::Status status =
      LimitNodes({{"t4", 2}, {"v100", 2}}, request.cluster.MakeOwn());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  const Row rows[] = {{"none", kNone},
                      {"+ redundancy", WithRedundancy()},
                      {"+ imbalance", WithImbalance()},
                      {"+ infeasibility", WithInfeasibility()},
                      {"+ early stop", PruningOptions{}}};
  std::printf("%-16s %8s %8s %10s %9s %11s %s\n", "pruning", "pairs", "queries",
              "steps", "time [s]", "iteration", "plan");
  PipelinePlan first;
  bool same = true;
  for (const Row& row : rows) {
    const auto start = std::chrono::steady_clock::now();
    const auto result = testing::PlanLocally(
        request, "aceso", {.pruning = row.pruning, .max_search_steps = effort},
        0);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    if (!result.ok()) {
      std::fprintf(stderr, "%s: %s\n", row.name,
                   result.status().ToString().c_str());
      return 1;
    }
    if (!result->plan.has_value()) {
      std::printf("%-16s no plan after %.3f s: %s\n", row.name, seconds.count(),
                  result->infeasible->reason.c_str());
      continue;
    }
    if (first.stages.empty()) first = *result->plan;
    const PlanningStats& stats = result->stats;
    const int64_t pairs = stats.pairs - stats.pruned_redundant -
                          stats.pruned_imbalanced - stats.pruned_infeasible -
                          stats.pruned_incompatible;
    if (!row.pruning.early_stop) same = same && *result->plan == first;
    std::printf("%-16s %8lld %8lld %10lld %9.3f %9.3f s %s\n", row.name,
                static_cast<long long>(pairs),
                static_cast<long long>(stats.queries),
                static_cast<long long>(stats.search_steps), seconds.count(),
                result->evaluation.iteration_time_s,
                *result->plan == first ? "same" : "DIFFERENT");
  }
  return same ? 0 : 1;
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  return tangram::Main(argc > 1 ? std::atoll(argv[1])
                                : tangram::TangramOptions().max_search_steps);
}
