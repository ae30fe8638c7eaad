#ifndef TANGRAM_COMMON_BAND_TRAITS_OF_PLAN_H_
#define TANGRAM_COMMON_BAND_TRAITS_OF_PLAN_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/band/residual_table.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {

// Returns the traits of a prediction for these pipelines on GPUs of the
// cluster. `framework` as in PredictionTraits.
PredictionTraits TraitsOfPlan(const ResidualTable& table,
                              const ModelSpec& model, const Cluster& cluster,
                              absl::Span<const PipelinePlan* const> pipelines,
                              absl::string_view framework);

// Likewise before there is a plan: for plans on all GPUs.
PredictionTraits TraitsOfCluster(const ResidualTable& table,
                                 const ModelSpec& model, const Cluster& cluster,
                                 absl::string_view framework);

// Returns the framework of residuals whose code a runtime's plans run on:
// "Megatron-Core" for "megatron". Empty: unknown, or none.
absl::string_view FrameworkOfRuntime(absl::string_view runtime);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BAND_TRAITS_OF_PLAN_H_
