#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PRIMITIVES_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PRIMITIVES_H_

#include <optional>

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// The reconfiguration primitives of the paper (Table 1), as applied to the
// bottleneck stage. The query fixes the pipeline microbatch, so the paper's
// microbatch primitives are absent; exchanging tp and dp is added.
// Recomputation follows from memory and is not a primitive.
enum class Primitive {
  kMoveOperators,  // Operators move to less loaded stages on either side.
  kMoreTp,         // Higher tp; other stages free the GPUs.
  kMoreDp,         // Higher dp; other stages free the GPUs.
  kLessTp,         // Lower tp; other stages get the GPUs.
  kLessDp,         // Lower dp; other stages get the GPUs.
  kTpForDp,        // Higher tp and lower dp on the same GPUs.
  kDpForTp,        // Higher dp and lower tp on the same GPUs.
};
inline constexpr int kNumPrimitives = 7;  // Enumerators of Primitive.

// The change of the bottleneck's use of a resource.
enum class Effect { kLess, kSame, kMore };

// The effects of a primitive on the bottleneck stage.
struct PrimitiveEffects {
  Effect time = Effect::kSame;
  Effect memory = Effect::kSame;
  Effect communication = Effect::kSame;
};

PrimitiveEffects EffectsOf(Primitive primitive);

// Applies a primitive to stage `bottleneck` of a complete configuration.
// Returns the new configuration, which is complete. Returns empty if the
// primitive does not apply or changes nothing.
//
// Deviates from the paper: a change of degrees also balances the cuts between
// the touched stages. Prefix sums make that as cheap as moving a single
// operator.
std::optional<Configuration> Apply(CostTables& tables, Primitive primitive,
                                   const Configuration& configuration,
                                   int bottleneck);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PRIMITIVES_H_
