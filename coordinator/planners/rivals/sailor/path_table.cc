#include "coordinator/planners/rivals/sailor/path_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace tangram::sailor {
namespace {

constexpr double kBucketBytes = 500e6;

// A curve never gives less than this share of the highest rate measured, for
// messages far smaller or larger than those measured.
constexpr double kLeastShare = 0.01;

}  // namespace

double SendTime(const Path& path, double bytes, bool unbounded) {
  if (bytes < 1) return 0;
  // Messages are whole bytes.
  const double whole = std::floor(bytes);
  const double l = std::log2(whole) - std::log2(1e6);
  double gb_per_s = (path.a * l + path.b) * l + path.c;
  if (!unbounded) {
    const double most = path.most_bytes_per_s / 1e9;
    gb_per_s = std::clamp(gb_per_s, kLeastShare * most, most);
  }
  return path.latency_s + whole * (1.0 / 1e9) / gb_per_s;
}

double ReduceTime(const Path& path, double bytes, int replicas,
                  bool unbounded) {
  if (replicas == 1) return 0;
  const double full = std::floor(bytes / kBucketBytes);
  const double rest = bytes - full * kBucketBytes;
  const double steps = 2 * (replicas - 1);
  double time_s = 0;
  if (full > 0) {
    time_s += full * steps * SendTime(path, kBucketBytes / replicas, unbounded);
  }
  return time_s + steps * SendTime(path, rest / replicas, unbounded);
}

PathTable::PathTable(const Input& input)
    : num_types_(static_cast<int>(input.types.size())),
      degrees_(input.types.size()) {
  std::vector<std::set<int>> degrees(num_types_);
  for (const auto& [ends, path] : input.paths) {
    const auto& [from, to] = ends;
    if (from.type == to.type && from.gpus == to.gpus) {
      degrees[from.type].insert(from.gpus);
      most_tp_ = std::max(most_tp_, from.gpus);
    }
  }
  const int zones = static_cast<int>(input.zones.size());
  slots_.assign(zones * num_types_ * (most_tp_ + 1), -1);
  for (int type = 0; type < num_types_; ++type) {
    degrees_[type].assign(degrees[type].begin(), degrees[type].end());
    for (int zone = 0; zone < zones; ++zone) {
      for (const int tp : degrees_[type]) {
        slots_[(zone * num_types_ + type) * (most_tp_ + 1) + tp] = num_ends_++;
      }
    }
  }
  of_.assign(num_ends_ * num_ends_, -1);
  std::map<std::tuple<double, double, double, double, double>, int> known;
  for (const auto& [ends, path] : input.paths) {
    const auto& [from, to] = ends;
    if (degrees[from.type].count(from.gpus) == 0) continue;
    if (degrees[to.type].count(to.gpus) == 0) continue;
    const auto [at, is_new] = known.try_emplace(
        {path.a, path.b, path.c, path.most_bytes_per_s, path.latency_s},
        num_paths());
    if (is_new) paths_.push_back(path);
    of_[IndexOf(from.zone, from.type, from.gpus) * num_ends_ +
        IndexOf(to.zone, to.type, to.gpus)] = at->second;
  }
}

}  // namespace tangram::sailor
