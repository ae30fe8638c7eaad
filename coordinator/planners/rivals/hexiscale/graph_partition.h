#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_GRAPH_PARTITION_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_GRAPH_PARTITION_H_

#include <functional>
#include <vector>

namespace tangram {

// A graph in which every two vertices are joined. Weights are positive and
// finite, in any unit: only their ratios count.
struct CompleteGraph {
  std::vector<double> vertex_weights;
  std::function<double(int, int)> edge_weight;  // Symmetric.
};

// Returns the part of each vertex, in [0, num_parts). Parts have about equal
// vertex weight, and the edges between them little weight. Some may be empty.
// Done by METIS (Karypis and Kumar, SIAM J. Sci. Comput. 1998): by recursive
// bisection up to 8 parts, directly above. Same input, same parts: METIS draws
// from the generator of the C library, which the call seeds. So calls wait for
// each other.
std::vector<int> PartitionGraph(const CompleteGraph& graph, int num_parts,
                                int seed);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_GRAPH_PARTITION_H_
