#include "worker/adapters/process/parallelizer_spec.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/parallelizer/validating_parallelizer.h"
#include "worker/adapters/builtin_parallelizers.h"
#include "worker/adapters/process/process_parallelizer.h"

namespace tangram {

bool NamesProgram(absl::string_view spec) {
  return absl::StartsWith(spec, kExecPrefix);
}

absl::StatusOr<std::unique_ptr<Parallelizer>> CreateParallelizer(
    absl::string_view spec, ProcessOptions limits) {
  if (!NamesProgram(spec)) return CreateBuiltinParallelizer(spec);
  limits.command = std::string(absl::StripPrefix(spec, kExecPrefix));
  TANGRAM_ASSIGN_OR_RETURN(std::unique_ptr<Parallelizer> parallelizer,
                           CreateProcessParallelizer(std::move(limits)));
  return CreateValidatingParallelizer(std::move(parallelizer));
}

}  // namespace tangram
