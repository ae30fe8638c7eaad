#ifndef TANGRAM_FORMATS_CONFIG_TRAINING_NAMES_H_
#define TANGRAM_FORMATS_CONFIG_TRAINING_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/training_options.h"

namespace tangram {

// Parses "fp32", "fp16", "bf16" or "fp8", ignoring case. kInvalidArgument:
// "precision: fp12; expected fp32, fp16, bf16 or fp8".
absl::StatusOr<Precision> ParsePrecision(absl::string_view text);

// Parses "adam" (also "adamw", which keeps the same state) or "sgd", ignoring
// case.
absl::StatusOr<Optimizer> ParseOptimizer(absl::string_view text);
// Returns "adam" or "sgd".
absl::string_view OptimizerName(Optimizer optimizer);

// Return all names.
std::vector<std::string> PrecisionNames();
std::vector<std::string> OptimizerNames();

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_TRAINING_NAMES_H_
