#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PRIMITIVES_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PRIMITIVES_H_

#include <optional>

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// The reconfiguration primitives of the paper (Table 1), as seen from the
// bottleneck stage. The pipeline microbatch is fixed by the query, so the
// microbatch primitives are out and the exchange of tp and dp is in;
// recomputation follows from memory.
enum class Primitive {
  kMoveOperators,  // To partners, over the stages between.
  kMoreTp,         // GPUs from a partner.
  kMoreDp,
  kLessTp,  // GPUs to a partner.
  kLessDp,
  kTpForDp,
  kDpForTp,
};
inline constexpr int kNumPrimitives = 7;

// What a primitive does to the bottleneck's use of a resource.
enum class Effect { kLess, kSame, kMore };

struct PrimitiveEffects {
  Effect time = Effect::kSame;
  Effect memory = Effect::kSame;
  Effect communication = Effect::kSame;
};

PrimitiveEffects EffectsOf(Primitive primitive);

// `configuration`, which is complete, after the primitive was applied to stage
// `bottleneck`, complete. Empty where it does not apply or changes nothing.
//
// Deviates from the paper: whatever changes degrees also balances the cuts
// between the stages that it touches, since sums over prefixes make that as
// cheap as moving a single operator.
std::optional<Configuration> Apply(CostTables& tables, Primitive primitive,
                                   const Configuration& configuration,
                                   int bottleneck);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_PRIMITIVES_H_
