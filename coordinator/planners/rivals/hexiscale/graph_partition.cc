#include "coordinator/planners/rivals/hexiscale/graph_partition.h"

#include <metis.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <vector>

#include "common/base/check.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

// METIS's advice for either of its algorithms.
constexpr int kMostPartsByBisection = 8;

// METIS's weights have 32 bits, and it adds them up. So scaled weights have
// about this sum.
constexpr double kMostWeight = 1e7;

// Held while METIS runs: its random numbers are those of the whole process.
Mutex metis_mutex;

// Returns a weight in METIS's integers.
idx_t Scaled(double weight, double scale) {
  return std::max<idx_t>(1, static_cast<idx_t>(std::lround(weight * scale)));
}

// The graph in METIS's form: the neighbours of v are
// neighbours[begins[v] … begins[v + 1]).
struct SparseRows {
  std::vector<idx_t> begins = {0};
  std::vector<idx_t> neighbours;
  std::vector<idx_t> edge_weights;
};

SparseRows RowsOf(const CompleteGraph& graph) {
  const int n = static_cast<int>(graph.vertex_weights.size());
  double total = 0;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) total += a == b ? 0 : graph.edge_weight(a, b);
  }
  SparseRows rows;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      rows.neighbours.push_back(b);
      rows.edge_weights.push_back(
          Scaled(graph.edge_weight(a, b), kMostWeight / total));
    }
    rows.begins.push_back(static_cast<idx_t>(rows.neighbours.size()));
  }
  return rows;
}

std::vector<idx_t> VertexWeightsOf(const CompleteGraph& graph) {
  double total = 0;
  for (const double weight : graph.vertex_weights) total += weight;
  std::vector<idx_t> weights;
  for (const double weight : graph.vertex_weights) {
    weights.push_back(Scaled(weight, kMostWeight / total));
  }
  return weights;
}

}  // namespace

std::vector<int> PartitionGraph(const CompleteGraph& graph, int num_parts,
                                int seed) {
  idx_t num_vertices = static_cast<idx_t>(graph.vertex_weights.size());
  std::vector<int> parts(num_vertices, 0);
  if (num_parts < 2 || num_vertices < 2) return parts;
  SparseRows rows = RowsOf(graph);
  std::vector<idx_t> vertex_weights = VertexWeightsOf(graph);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  const bool directly = num_parts > kMostPartsByBisection;
  if (directly) options[METIS_OPTION_CONTIG] = 1;
  idx_t num_constraints = 1;
  idx_t wanted = num_parts;
  idx_t cut = 0;
  std::vector<idx_t> found(num_vertices, 0);
  int status = METIS_OK;
  {
    const MutexLock lock(metis_mutex);
    status = (directly ? METIS_PartGraphKway : METIS_PartGraphRecursive)(
        &num_vertices, &num_constraints, rows.begins.data(),
        rows.neighbours.data(), vertex_weights.data(), /*vsize=*/nullptr,
        rows.edge_weights.data(), &wanted, /*tpwgts=*/nullptr,
        /*ubvec=*/nullptr, options, &cut, found.data());
  }
  if (status == METIS_ERROR) {
    // METIS catches SIGTERM while it runs, and then ends early. Its handler is
    // gone by now, so that of the process gets the signal.
    std::raise(SIGTERM);
    return parts;
  }
  TANGRAM_CHECK(status == METIS_OK);
  std::copy(found.begin(), found.end(), parts.begin());
  return parts;
}

}  // namespace tangram
