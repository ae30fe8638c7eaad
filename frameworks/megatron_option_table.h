#ifndef TANGRAM_FRAMEWORKS_MEGATRON_OPTION_TABLE_H_
#define TANGRAM_FRAMEWORKS_MEGATRON_OPTION_TABLE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// The effect of an option of Megatron-LM.
enum class OptionEffect {
  kNone,     // Neither time nor memory of an iteration.
  kPlan,     // Time or memory.
  kRefused,  // The model or the plan, in a way that plans cannot hold.
};

enum class OptionValues {
  kNone,  // A flag.
  kOne,
  kSome,  // One or more.
  kAny,   // Not known: one of a family of options.
};

struct MegatronOptionKind {
  OptionEffect effect = OptionEffect::kPlan;
  OptionValues values = OptionValues::kNone;
  // A value that means the same as no option; empty: there is none.
  absl::string_view neutral;
};

// Returns the option of Megatron-LM or FlagScale called `name`, which has
// neither leading dashes nor underscores for dashes.
std::optional<MegatronOptionKind> FindMegatronOption(absl::string_view name);

// Returns all names that are not families.
absl::Span<const absl::string_view> MegatronOptionNames();

// Returns the known name that `name` was probably meant to be; empty if none is
// near.
absl::string_view NearestMegatronOption(absl::string_view name);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_MEGATRON_OPTION_TABLE_H_
