#include "coordinator/planners/rivals/metis/plan_cost.h"

#include <algorithm>
#include <numeric>

namespace tangram {
namespace {

constexpr double kMib = 1 << 20;
// M12: what the published planner allows for beyond the profile.
constexpr double kMemoryFactor = 5;
constexpr double kLeastMb = 0.001;
// The published planner doubles optimizer times.
constexpr double kOptimizerFactor = 2;

double SumOf(const std::vector<double>& values, int begin, int end) {
  return std::accumulate(values.begin() + begin, values.begin() + end, 0.0);
}

double PassMs(const StageWork& work, int begin, int end) {
  double slowest = 0;
  for (const ReplicaWork& kind : work.kinds) {
    slowest = std::max(slowest, SumOf(kind.ms, begin, end));
  }
  return slowest;
}

double OptimizerMs(const MetisInput& input, const MetisDefects& defects,
                   const StageWork& work, int tp, int begin, int end) {
  if (defects.first_type_counts) {
    return kOptimizerFactor * input.optimizer_ms / tp * (end - begin) /
           input.num_layers();
  }
  double slowest = 0;
  for (const ReplicaWork& kind : work.kinds) {
    slowest = std::max(slowest, SumOf(kind.optimizer_ms, begin, end));
  }
  return slowest;
}

// Ring all-reduce: 2 (dp - 1) / dp x bytes / bandwidth.
double SyncMs(const MetisInput& input, const MetisDefects& defects,
              const StageWorks& works, const StagePlace& place, int begin,
              int end) {
  if (place.dp == 1) return 0;
  const int rings = defects.deals_ranks_to_replicas ? place.dp : place.tp;
  const int length = place.num_gpus / rings;
  double bandwidth = works.Bandwidth(place.first_rank, length, rings);
  for (int ring = 1; ring < rings; ++ring) {
    bandwidth = std::min(
        bandwidth, works.Bandwidth(place.first_rank + ring, length, rings));
  }
  const double bytes = SumOf(input.parameter_bytes, begin, end);
  return 2.0 * (place.dp - 1) / (place.dp * bandwidth * kMib) * bytes /
         place.tp;
}

// One transfer of a microbatch of one replica to the next stage.
double TransferMs(const MetisInput& input, const MetisDefects& defects,
                  const StageWorks& works, const StagePlace& from,
                  const StagePlace& to, int samples, int end_layer) {
  const int layers = input.num_layers();
  int layer = std::max(0, end_layer - 1);
  if (defects.sends_next_layer) layer = end_layer < layers ? end_layer : 0;
  double bytes = samples / from.dp * input.output_bytes[layer];
  if (layer == layers - 1) bytes /= from.tp;
  return bytes / (works.Bandwidth(from.first_rank, from.num_gpus + to.num_gpus,
                                  /*stride=*/1) *
                  kMib);
}

}  // namespace

TightestMemory MemoryOf(const MetisInput& input, const MetisSettings& settings,
                        const StageWorks& works, const WorkPlan& plan,
                        int stage) {
  const StagePlace& place = plan.places[stage];
  const StageWork& work = *plan.works[stage];
  const int begin = plan.bounds[stage];
  const int end = plan.bounds[stage + 1];
  if (settings.defects.memory_once_a_stage) {
    TightestMemory memory{
        .demand =
            kLeastMb + kMemoryFactor * SumOf(work.upstream_mb, begin, end)};
    for (int i = 0; i < place.num_gpus; ++i) {
      memory.capacity += works.host_of(place.first_rank + i).memory_mb;
    }
    return memory;
  }
  const int behind = static_cast<int>(plan.places.size()) - stage;
  const int in_flight = std::min(behind, plan.batches);
  TightestMemory tightest;
  for (const ReplicaWork& kind : work.kinds) {
    double transient = 0;
    for (int layer = begin; layer < end; ++layer) {
      transient = std::max(transient, kind.transient_mb[layer]);
    }
    double demand = SumOf(kind.state_mb, begin, end) +
                    in_flight * SumOf(kind.activation_mb, begin, end) +
                    transient;
    if (!input.reserved_mb.empty()) demand += input.reserved_mb[kind.type];
    const TightestMemory memory{
        .capacity = place.num_gpus * works.memory_mb_of_type(kind.type),
        .demand = place.num_gpus * demand};
    if (&kind == &work.kinds.front() || memory.slack() < tightest.slack()) {
      tightest = memory;
    }
  }
  return tightest;
}

// T = (B - 1) max t + sum t + B (sync + batch) + max update + max all-reduce
//     + sum transfers
double CostMs(const MetisInput& input, const MetisSettings& settings,
              const StageWorks& works, const WorkPlan& plan) {
  double slowest = 0;
  double passes = 0;
  double update = 0;
  double sync = 0;
  double transfers = 0;
  const int samples = settings.global_batch / plan.batches;
  for (int s = 0; s < plan.costed_stages; ++s) {
    const StagePlace& place = plan.places[s];
    const StageWork& work = *plan.works[s];
    const int begin = plan.bounds[s];
    const int end = plan.bounds[s + 1];
    const double pass = PassMs(work, begin, end);
    slowest = std::max(slowest, pass);
    passes += pass;
    update = std::max(update, OptimizerMs(input, settings.defects, work,
                                          place.tp, begin, end));
    sync = std::max(sync,
                    SyncMs(input, settings.defects, works, place, begin, end));
    if (s + 1 < plan.costed_stages) {
      transfers += TransferMs(input, settings.defects, works, place,
                              plan.places[s + 1], samples, end);
    }
  }
  return (plan.batches - 1) * slowest + passes +
         plan.batches *
             (plan.works.back()->sync_ms + input.batch_generator_ms) +
         update + sync + transfers;
}

}  // namespace tangram
