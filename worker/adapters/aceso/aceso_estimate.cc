#include "worker/adapters/aceso/aceso_estimate.h"

#include <algorithm>

#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Computes the score that Complete documents. The backward passes of the stages
// in front run after a stage's own, so they hide its synchronisation.
double ScoreSeconds(const Configuration& configuration, int num_microbatches) {
  double latency_s = 0;
  double slowest_s = 0;
  double exposed_sync_s = 0;
  double backward_before_s = 0;
  for (const ConfiguredStage& stage : configuration.stages) {
    latency_s += stage.time_s();
    slowest_s = std::max(slowest_s, stage.time_s());
    exposed_sync_s = std::max(exposed_sync_s, stage.sync_s - backward_before_s);
    backward_before_s += stage.figures.backward_s;
  }
  return latency_s + (num_microbatches - 1) * slowest_s + exposed_sync_s;
}

}  // namespace

TransferPath PathBetween(const CostTables& tables, const ConfiguredStage& from,
                         const ConfiguredStage& to) {
  const DegreeSpace& space = tables.space();
  return PathWithin(tables.island(), from.first_gpu,
                    space.num_gpus(from.shape.degrees), to.first_gpu,
                    space.num_gpus(to.shape.degrees));
}

// The sender pays both directions or one; see TransferPayer.
double SendSeconds(const CostTables& tables, const TransferPath& path,
                   int position) {
  return tables.ways_paid_by_sender() *
         TransferSeconds(tables.BoundaryBytesAt(position), path);
}

// Uses the cost model's own formulas on prefix sums of parameters.
double SyncSeconds(CostTables& tables, const StageShape& shape,
                   const StageFigures& figures) {
  const DegreeTable& table = tables.At(shape.degrees);
  const StageParameters parameters = {
      .dense = table.parameters.Over(tables.layout().at(shape.begin),
                                     tables.layout().at(shape.end))};
  const StageEnvironment environment = tables.EnvironmentOf(table);
  return GradientSyncSeconds(
             parameters,
             {.forward_s = figures.compute_s - figures.backward_s,
              .backward_s = figures.backward_s},
             table.parallelism, environment) +
         OptimizerSeconds(parameters, table.parallelism, environment);
}

void Complete(CostTables& tables, Configuration& configuration) {
  std::vector<ConfiguredStage>& stages = configuration.stages;
  const int num_stages = configuration.num_stages();
  const double capacity = tables.capacity_bytes();
  configuration.bytes_short = 0;
  int first_gpu = 0;
  for (int i = 0; i < num_stages; ++i) {
    ConfiguredStage& stage = stages[i];
    stage.first_gpu = first_gpu;
    first_gpu += tables.space().num_gpus(stage.shape.degrees);
    const int behind = num_stages - 1 - i + configuration.trailing_stages;
    stage.shape.in_flight =
        InFlightMicrobatches(behind, tables.num_microbatches());
    // An unchanged shape keeps its estimates.
    if (stage.shape != stage.estimated) {
      stage.figures = EstimateFigures(tables, stage.shape);
      stage.sync_s = SyncSeconds(tables, stage.shape, stage.figures);
      stage.estimated = stage.shape;
    }
    configuration.bytes_short = std::max(configuration.bytes_short,
                                         stage.figures.peak_bytes - capacity);
  }
  for (int i = 0; i + 1 < num_stages; ++i) {
    const TransferPath path = PathBetween(tables, stages[i], stages[i + 1]);
    stages[i].send_s = SendSeconds(tables, path, stages[i].shape.end);
  }
  stages.back().send_s = 0;
  configuration.score_s =
      ScoreSeconds(configuration, tables.num_microbatches());
}

}  // namespace tangram::aceso
