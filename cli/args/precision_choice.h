#ifndef TANGRAM_CLI_ARGS_PRECISION_CHOICE_H_
#define TANGRAM_CLI_ARGS_PRECISION_CHOICE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"

namespace tangram {

// The precision of a training for which nobody named one.
struct PrecisionChoice {
  Precision precision = Precision::kFp16;
  // The type of the model's weights, if only some GPUs have units for it. A
  // plan on these alone may be the faster one.
  std::optional<Precision> preferred;
  // Why it is not the type of the model's weights. Empty: it is, or the model
  // does not say.
  std::string note;
};

// Chooses the type of the model's weights, if it has 16 bits and all GPUs of
// the cluster have units for it; else fp16. `model_file` is the file that says
// the type, for the note:
// "config.json says bf16, for which T4 has no units: planned in fp16, unless
// bf16 without it is faster; --precision bf16 to insist".
PrecisionChoice ChoosePrecision(const ModelSpec& model,
                                absl::string_view model_file,
                                const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_PRECISION_CHOICE_H_
