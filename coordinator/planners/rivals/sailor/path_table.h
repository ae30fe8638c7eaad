#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_PATH_TABLE_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_PATH_TABLE_H_

#include <vector>

#include "coordinator/planners/rivals/sailor/sailor_input.h"

namespace tangram::sailor {

// Seconds in which `bytes` go over a path. Unbounded: at the rate of the curve
// even where it is no rate.
double SendTime(const Path& path, double bytes, bool unbounded);

// Seconds to reduce `bytes` of gradients in a ring of `replicas` over one path:
// in buckets of 500 MB, each in 2 (n - 1) transfers of an n-th of it.
double ReduceTime(const Path& path, double bytes, int replicas, bool unbounded);

// The paths of an input by dense indexes. Endpoints that have the same paths
// are common, so equal paths have one index.
class PathTable {
 public:
  explicit PathTable(const Input& input);

  // The degrees of a type with a path to itself in some zone, ascending.
  const std::vector<int>& Degrees(int type) const { return degrees_[type]; }

  // Index of the endpoint. The degree must be one of the type.
  int IndexOf(int zone, int type, int tp) const {
    return slots_[(zone * num_types_ + type) * (most_tp_ + 1) + tp];
  }
  // Index of the path between two endpoints. -1: there is none.
  int PathOf(int from, int to) const { return of_[from * num_ends_ + to]; }

  int num_paths() const { return static_cast<int>(paths_.size()); }
  const Path& path(int index) const { return paths_[index]; }

 private:
  int num_types_ = 0;
  int most_tp_ = 0;
  int num_ends_ = 0;
  std::vector<std::vector<int>> degrees_;
  std::vector<int> slots_;
  std::vector<int> of_;
  std::vector<Path> paths_;
};

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_PATH_TABLE_H_
