#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ILP_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ILP_H_

#include <optional>

#include "worker/adapters/alpa/alpa_sharding_problem.h"

namespace tangram::alpa {

// Solves the intra-operator problem as the paper's integer program (2201.12023
// §4.2). Uses COIN-OR's Clp, and Cbc if the relaxation is not integral. s_i is
// one-hot over the strategies of free operator i; e_ij is one-hot over the
// pairs of strategies of i and j:
//   min Σ c_i·s_i + Σ R_ij·e_ij
//   Σ_a s_i[a] = 1,  Σ_b e_ij[a][b] = s_i[a],  Σ_a e_ij[a][b] = s_j[b],
//   Σ_{i ∈ L_t} bytes_i·s_i ≤ max_live_bytes for each live set L_t,
//   e_ij[a][b] = 0 where R_ij[a][b] is forbidden.
// Returns empty if no sharding is allowed. Thread-safe.
std::optional<Sharding> SolveShardingIlp(const ShardingProblem& problem);

// Returns the same optimum. Uses elimination if the graph allows it and its
// solution respects the limit on bytes, else the integer program.
std::optional<Sharding> SolveSharding(const ShardingProblem& problem);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_SHARDING_ILP_H_
