#include "worker/adapters/builtin_parallelizers.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/parallelizer/validating_parallelizer.h"
#include "worker/adapters/aceso/aceso_adapter.h"
#include "worker/adapters/alpa/alpa_adapter.h"
#include "worker/adapters/galvatron/galvatron_adapter.h"
#include "worker/adapters/hypertron/hypertron_adapter.h"
#include "worker/adapters/mist/mist_adapter.h"
#include "worker/adapters/uniform/uniform_adapter.h"

namespace tangram {
namespace {

// A row of the table of native parallelizers, sorted by name.
struct Builtin {
  absl::string_view name;
  std::unique_ptr<Parallelizer> (*create)();
  absl::string_view origin;  // For people; see OriginOfBuiltinParallelizer.
};

constexpr Builtin kBuiltins[] = {
    {"aceso", CreateAcesoParallelizer, "Aceso (EuroSys '24)"},
    {"alpa", CreateAlpaParallelizer, "Alpa (OSDI '22)"},
    {"galvatron", CreateGalvatronParallelizer, "Galvatron (VLDB '23, '25)"},
    {"hypertron", CreateHypertronParallelizer,
     "ours, after the abstract of HyperTron (SC '25)"},
    {"mist", CreateMistParallelizer, "Mist (EuroSys '25)"},
    {"uniform", CreateUniformParallelizer,
     "Galvatron-uniform of Tangram's experiments"},
};
static_assert(std::ranges::equal(kBuiltins, kNativeParallelizers, {},
                                 &Builtin::name));

}  // namespace

std::vector<std::string> BuiltinParallelizerNames() {
  std::vector<std::string> names;
  for (const Builtin& builtin : kBuiltins) names.emplace_back(builtin.name);
  return names;
}

absl::string_view OriginOfBuiltinParallelizer(absl::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name == name) return builtin.origin;
  }
  return "";
}

// Their searches are exhaustive.
bool ReadsSearchSteps(absl::string_view name) {
  return name != "uniform" && name != "alpa" && name != "galvatron";
}

absl::StatusOr<std::unique_ptr<Parallelizer>> CreateBuiltinParallelizer(
    absl::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name == name) {
      return CreateValidatingParallelizer(builtin.create());
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("parallelizer: \"", name, "\"; expected one of ",
                   absl::StrJoin(BuiltinParallelizerNames(), ", ")));
}

}  // namespace tangram
