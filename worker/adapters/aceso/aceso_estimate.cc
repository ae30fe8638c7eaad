#include "worker/adapters/aceso/aceso_estimate.h"

#include <algorithm>

#include "common/domain/closed_form.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Computes the score that Complete documents.
double ScoreSeconds(const Configuration& configuration, int num_microbatches) {
  ClosedForm form;
  for (const ConfiguredStage& stage : configuration.stages) {
    form.AddStage(stage.time_s(), stage.figures.backward_s, stage.sync_s);
  }
  return form.Seconds(num_microbatches);
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
      .dense = tables.ParametersOf(table, shape.begin, shape.end)};
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
