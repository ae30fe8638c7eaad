#ifndef TANGRAM_CLI_VALIDATION_RESIDUALS_H_
#define TANGRAM_CLI_VALIDATION_RESIDUALS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/validation/express_run.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/score.h"
#include "common/band/residual_table.h"

namespace tangram {

// Returns a table without residuals that knows the generations of the device
// catalogue.
ResidualTable CatalogueGenerations();

// Returns what the error of the run's prediction depends on.
PredictionTraits TraitsOfRun(const ResidualTable& table, const MeasuredRun& run,
                             const ExpressedRun& expressed);

// Adds the residuals of predicted runs to the table, except those of the source
// `left_out`; empty: none is.
void AddResiduals(absl::Span<const PredictedRun* const> runs,
                  absl::string_view left_out, ResidualTable& table);

// Sets the tails of a table so that the bands of each source, made without it,
// hold nearly kBandCoverage of the rows of all, as far as this takes no tails
// below half of kWidestTail.
void ChooseTails(ResidualTable& table);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RESIDUALS_H_
