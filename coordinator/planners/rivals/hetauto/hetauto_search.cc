#include "coordinator/planners/rivals/hetauto/hetauto_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "coordinator/planners/rivals/hetauto/hetauto_cost.h"

namespace tangram {
namespace {

// Layers more or less than in proportion.
constexpr int kMostShift = 2;

constexpr int kMostCp = 8;

// Degrees of a cluster.
struct Degrees {
  int tp = 1;
  int cp = 1;
  int num_stages = 0;
};

// Returns the degrees that a cluster may have, the guided ones first.
std::vector<Degrees> DegreesOf(const HetAutoInput& input, int cluster, int dp) {
  const HetAutoCluster& here = input.clusters[cluster];
  std::vector<Degrees> all;
  for (int tp = 1; tp <= here.gpus_per_node; tp *= 2) {
    const bool suits =
        here.gpus_per_node % tp == 0 &&
        input.profiles.Find(
            {.type = here.type, .tp_degree = tp, .samples = 1}) != nullptr;
    if (!suits) continue;
    for (int cp = 1; cp <= kMostCp; cp *= 2) {
      const bool splits = cp == 1 || (here.runs_context_parallel &&
                                      input.sequence_length % (2 * cp) == 0);
      if (!splits || here.num_gpus() % (tp * cp * dp) != 0) continue;
      const int num_stages = here.num_gpus() / (tp * cp * dp);
      if (num_stages > input.num_layers) continue;
      all.push_back({.tp = tp, .cp = cp, .num_stages = num_stages});
    }
  }
  absl::c_stable_sort(all, [](const Degrees& a, const Degrees& b) {
    return std::tuple(a.cp > 1, a.num_stages, a.cp) <
           std::tuple(b.cp > 1, b.num_stages, b.cp);
  });
  return all;
}

// A path with its decisions so far.
struct Decided {
  HetAutoPlan plan;
  std::vector<Degrees> choices;  // The degrees to choose from.
  std::vector<int> clusters;     // The clusters that are left.
  std::vector<int> sizes;        // The samples to choose from.
  int num_actions = 0;           // The next decision's.
  int guided = 0;
  bool is_complete = false;
};

class HetAutoProblem : public DecisionProblem {
 public:
  explicit HetAutoProblem(const HetAutoInput& input) : input_(input) {
    int common = input.global_batch_size;
    for (const HetAutoCluster& cluster : input.clusters) {
      common = std::gcd(common, cluster.num_gpus());
    }
    for (int dp = common; dp >= 1; --dp) {
      if (common % dp == 0) dp_degrees_.push_back(dp);
    }
  }

  int NumActions(absl::Span<const int> path) const override {
    return Decide(path).num_actions;
  }

  int GuidedAction(absl::Span<const int> path) const override {
    return Decide(path).guided;
  }

  double Reward(absl::Span<const int> path) override {
    const auto [known, is_new] =
        rewards_.try_emplace(std::vector<int>(path.begin(), path.end()), 0);
    if (!is_new) return known->second;
    const Decided decided = Decide(path);
    if (!decided.is_complete) return 0;
    const HetAutoCost cost = CostOf(input_, decided.plan);
    if (cost.bytes_short > 0) {
      bytes_short_ = std::min(bytes_short_, cost.bytes_short);
      return 0;
    }
    if (baseline_s_ == 0) baseline_s_ = cost.iteration_s;
    const bool is_known =
        absl::c_any_of(plans_, [&](const RankedHetAutoPlan& other) {
          return other.plan == decided.plan;
        });
    if (!is_known) {
      plans_.push_back({.plan = decided.plan, .iteration_s = cost.iteration_s});
    }
    known->second = baseline_s_ / cost.iteration_s;
    return known->second;
  }

  HetAutoPlans Plans() && {
    absl::c_stable_sort(
        plans_, [](const RankedHetAutoPlan& a, const RankedHetAutoPlan& b) {
          return a.iteration_s < b.iteration_s;
        });
    return {.plans = std::move(plans_),
            .bytes_short = bytes_short_ < kInfinity ? bytes_short_ : 0};
  }

 private:
  // Returns the clusters that are left, that of the fastest link first.
  void NextClusters(Decided& decided) const {
    for (int c = 0; c < static_cast<int>(input_.clusters.size()); ++c) {
      const bool is_used = absl::c_any_of(
          decided.plan.sections,
          [&](const auto& section) { return section.cluster == c; });
      if (!is_used) decided.clusters.push_back(c);
    }
    if (decided.plan.sections.empty()) return;
    const std::vector<double>& links =
        input_.links[decided.plan.sections.back().cluster];
    absl::c_stable_sort(decided.clusters,
                        [&](int a, int b) { return links[a] > links[b]; });
  }

  // Returns the samples of a microbatch that divide the batch and have
  // profiles.
  std::vector<int> SizesOf(const HetAutoPlan& plan) const {
    std::vector<int> sizes;
    const auto has_profiles = [&](int samples) {
      return absl::c_all_of(plan.sections, [&](const HetAutoSection& section) {
        return input_.profiles.Find(
                   {.type = input_.clusters[section.cluster].type,
                    .tp_degree = section.tp_degree,
                    .samples = samples}) != nullptr;
      });
    };
    for (int samples = 1; has_profiles(samples); samples *= 2) {
      if (input_.global_batch_size % (samples * plan.dp_degree) != 0) break;
      sizes.push_back(samples);
    }
    return sizes;
  }

  // Returns the layers of section i in proportion to its throughput and that of
  // the sections behind it, and at least one for each stage. Those before have
  // their layers.
  int ProportionalLayers(const HetAutoPlan& plan, size_t i) const {
    double all = 0;
    double own = 0;
    int left = input_.num_layers;
    int stages_behind = 0;
    for (size_t j = 0; j < plan.sections.size(); ++j) {
      const HetAutoSection& section = plan.sections[j];
      if (j < i) {
        left -= section.num_layers;
        continue;
      }
      const double throughput =
          section.num_stages /
          LayerPassSeconds(input_, section.cluster, section.tp_degree,
                           section.cp_degree, plan.samples);
      all += throughput;
      if (j == i) own = throughput;
      if (j > i) stages_behind += section.num_stages;
    }
    return Clamped(plan, i, left,
                   static_cast<int>(std::lround(left * own / all)),
                   stages_behind);
  }

  static int Clamped(const HetAutoPlan& plan, size_t i, int left, int layers,
                     int stages_behind) {
    const int least = plan.sections[i].num_stages;
    return std::clamp(layers, least, std::max(least, left - stages_behind));
  }

  // Sets the layers of a section, whose action is a shift. The last section
  // takes what is left.
  void SetLayers(HetAutoPlan& plan, size_t i, int shift) const {
    int left = input_.num_layers;
    int stages_behind = 0;
    for (size_t j = 0; j < plan.sections.size(); ++j) {
      if (j < i) left -= plan.sections[j].num_layers;
      if (j > i) stages_behind += plan.sections[j].num_stages;
    }
    HetAutoSection& section = plan.sections[i];
    section.num_layers =
        i + 1 == plan.sections.size()
            ? left
            : Clamped(plan, i, left, ProportionalLayers(plan, i) + shift,
                      stages_behind);
  }

  // Follows a path. Decisions end where no action is possible.
  Decided Decide(absl::Span<const int> path) const {
    Decided decided;
    size_t next = 0;
    // Returns whether the path has an action for a decision among n.
    const auto decides = [&](size_t n, int guided) {
      if (next < path.size()) return true;
      decided.num_actions = static_cast<int>(n);
      decided.guided = guided;
      return false;
    };
    if (!decides(dp_degrees_.size(), 0)) return decided;
    HetAutoPlan& plan = decided.plan;
    plan.dp_degree = dp_degrees_[path[next++]];
    const size_t num_clusters = input_.clusters.size();
    while (plan.sections.size() < num_clusters) {
      decided.clusters.clear();
      NextClusters(decided);
      if (!decides(decided.clusters.size(), 0)) return decided;
      const int cluster = decided.clusters[path[next++]];
      decided.choices = DegreesOf(input_, cluster, plan.dp_degree);
      if (!decides(decided.choices.size(), 0)) return decided;
      const Degrees& degrees = decided.choices[path[next++]];
      plan.sections.push_back({.cluster = cluster,
                               .num_stages = degrees.num_stages,
                               .tp_degree = degrees.tp,
                               .cp_degree = degrees.cp});
    }
    if (plan.num_stages() > input_.num_layers) return decided;
    decided.sizes = SizesOf(plan);
    if (!decides(decided.sizes.size(), 0)) return decided;
    plan.samples = decided.sizes[path[next++]];
    for (size_t i = 0; i < num_clusters; ++i) {
      int shift = 0;
      if (i + 1 < num_clusters) {
        if (!decides(2 * kMostShift + 1, kMostShift)) return decided;
        shift = path[next++] - kMostShift;
      }
      SetLayers(plan, i, shift);
    }
    decided.is_complete = true;
    return decided;
  }

  const HetAutoInput& input_;
  std::vector<int> dp_degrees_;  // Descending.
  std::map<std::vector<int>, double> rewards_;
  std::vector<RankedHetAutoPlan> plans_;
  double baseline_s_ = 0;  // The first plan's that fits.
  double bytes_short_ = kInfinity;
};

}  // namespace

HetAutoPlans SearchHetAuto(const HetAutoInput& input, const UctOptions& options,
                           const std::function<bool()>& should_stop) {
  HetAutoProblem problem(input);
  const bool ended = UctSearch(problem, options, should_stop);
  HetAutoPlans plans = std::move(problem).Plans();
  plans.stopped = !ended;
  return plans;
}

}  // namespace tangram
