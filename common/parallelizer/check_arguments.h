#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_ARGUMENTS_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_ARGUMENTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Checks of the properties that every Parallelizer may rely on. They return
// kInvalidArgument naming field, value and what was expected. `field` is the
// path of the argument: "slice", "model".
absl::Status CheckModel(const ModelSpec& model, absl::string_view field);

// Checks that a slice holds atoms and layers, its runs are canonical and its
// fingerprint matches them.
absl::Status CheckSlice(const ModelSlice& slice, absl::string_view field);

absl::Status CheckConcatenation(const ModelSlice& head, const ModelSlice& tail);

absl::Status CheckIslandSpec(const IslandSpec& island, absl::string_view field);

absl::Status CheckProfileOptions(const ProfileOptions& options,
                                 absl::string_view field);

absl::Status CheckParallelizeOptions(const ParallelizeOptions& options,
                                     absl::string_view field);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_ARGUMENTS_H_
