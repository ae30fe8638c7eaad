#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Parallelizes by two nested optimisations: Zheng et al., "Alpa: Automating
// Inter- and Intra-Operator Parallelism for Distributed Deep Learning", OSDI
// 2022 (2201.12023). The algorithm is rebuilt on common/cost. An integer
// program shards the operators of a stage over a submesh. A dynamic program
// cuts the slice into stages and the island into submeshes. Both are solved
// exactly. Atoms are layers. Recomputation and ZeRO are flags in Alpa, not part
// of its search; both are off.
std::unique_ptr<Parallelizer> CreateAlpaParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_ADAPTER_H_
