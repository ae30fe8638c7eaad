#include "coordinator/planners/rivals/sailor/sailor_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/rivals/sailor/path_table.h"
#include "coordinator/planners/rivals/sailor/region_orders.h"
#include "coordinator/planners/rivals/sailor/stage_chains.h"
#include "coordinator/planners/rivals/sailor/stage_search.h"

namespace tangram::sailor {
namespace {

// Slower plans are left out of the answer, as far as that is known beforehand.
constexpr double kMostSlowdown = 1.5;

// An equal part of the steps; 0 stands for any number.
int64_t PartOf(int64_t most_steps, size_t parts) {
  if (most_steps == 0) return 0;
  return std::max<int64_t>(1, most_steps / static_cast<int64_t>(parts));
}

int64_t NumGpus(const Input& input) {
  int64_t gpus = 0;
  for (const Zone& zone : input.zones) {
    for (const int count : zone.gpus) gpus += count;
  }
  return gpus;
}

int MostStages(const Input& input, const Settings& settings) {
  const auto layers = static_cast<int64_t>(input.gradient_bytes.size());
  const int64_t most = std::min(layers, NumGpus(input));
  return static_cast<int>(settings.most_stages == 0
                              ? most
                              : std::min<int64_t>(most, settings.most_stages));
}

// The search of one size of microbatch.
class SizeSearch {
 public:
  SizeSearch(const Input& input, const Settings& settings,
             const PathTable& paths, const std::vector<Region>& regions,
             const std::vector<std::vector<int>>& orders, int samples,
             int64_t most_steps, Effort& effort, double& limit_s)
      : input_(input),
        settings_(settings),
        regions_(regions),
        orders_(orders),
        samples_(samples),
        most_steps_(most_steps),
        limit_s_(limit_s),
        chains_(input, settings.rules, paths, samples,
                MostStages(input, settings)),
        effort_(effort),
        fastest_(input, settings.rules, paths, regions, orders, chains_,
                 Objective::kFastest, limit_s, effort),
        cheapest_(input, settings.rules, paths, regions, orders, chains_,
                  Objective::kCheapest, limit_s, effort) {}

  // Adds the plans found, each with its number of stages and order of regions.
  void Run(std::vector<std::tuple<int, int, int, Plan>>& plans);

  bool fits_memory() const { return chains_.num_chain_stages() > 0; }

 private:
  struct Branch {   // A pipeline with its degrees, and an order of regions.
    int first = 0;  // Its first stage in the chains.
    int num_stages = 0;
    int order = 0;
    double best = kInfinity;
    bool ended = false;
  };

  bool for_speed() const { return settings_.objective == Objective::kFastest; }
  int Microbatches(int dp) const {
    const int at_once = samples_ * dp;
    return (input_.global_batch + at_once - 1) / at_once;
  }
  std::vector<int> DpDegrees() const;
  std::vector<Branch> Branches() const;
  bool PassesRegionTest(int first, const std::vector<int>& order) const;
  bool MustBeSlow(const Branch& branch) const {
    return fastest_.LeastSeconds(branch.first) > limit_s_;
  }
  std::optional<Plan> SolveBranch(const Branch& branch);

  const Input& input_;
  const Settings& settings_;
  const std::vector<Region>& regions_;
  const std::vector<std::vector<int>>& orders_;
  const int samples_;
  const int64_t most_steps_;
  double& limit_s_;  // By the plans of all sizes so far.
  StageChains chains_;
  Effort& effort_;
  StageSearch fastest_;
  StageSearch cheapest_;
};

// The least dp degree of each number of microbatches, or with whole
// microbatches those that divide the batch. From many to few for speed, so that
// worse plans soon end the search; from few to many for price.
std::vector<int> SizeSearch::DpDegrees() const {
  const int64_t most =
      settings_.most_replicas > 0
          ? settings_.most_replicas
          : std::min<int64_t>(NumGpus(input_), input_.global_batch);
  std::vector<int> degrees;
  for (int dp = 1; dp <= most; ++dp) {
    if (settings_.whole_microbatches
            ? input_.global_batch % (samples_ * dp) == 0
            : dp == 1 || Microbatches(dp) != Microbatches(dp - 1)) {
      degrees.push_back(dp);
    }
  }
  if (for_speed()) std::reverse(degrees.begin(), degrees.end());
  return degrees;
}

// Whether a type has GPUs for one replica of the whole pipeline.
bool SizeSearch::PassesRegionTest(int first,
                                  const std::vector<int>& order) const {
  for (size_t type = 0; type < input_.types.size(); ++type) {
    int needed = 0;
    for (int i = first; i >= 0; i = chains_.stage(i).next) {
      needed += chains_.stage(i).types[type].tp;
    }
    int there = 0;
    for (const int region : order) {
      for (const int zone : regions_[region].zones) {
        there += input_.zones[zone].gpus[type];
      }
    }
    if (there >= needed) return true;
  }
  return false;
}

std::vector<SizeSearch::Branch> SizeSearch::Branches() const {
  std::vector<Branch> branches;
  const int most = MostStages(input_, settings_);
  for (int stages = 1; stages <= most; ++stages) {
    for (const int first : chains_.First(stages)) {
      for (int order = 0; order < static_cast<int>(orders_.size()); ++order) {
        if (settings_.rules.tests_regions &&
            !PassesRegionTest(first, orders_[order])) {
          continue;
        }
        branches.push_back(
            {.first = first, .num_stages = stages, .order = order});
      }
    }
  }
  return branches;
}

std::optional<Plan> SizeSearch::SolveBranch(const Branch& branch) {
  const auto is_within = [&](const std::optional<Plan>& plan) {
    return plan &&
           (settings_.most_dollars == 0 ||
            plan->dollars <= settings_.most_dollars) &&
           (settings_.longest_s == 0 ||
            plan->iteration_s <= settings_.longest_s);
  };
  StageSearch& wanted = for_speed() ? fastest_ : cheapest_;
  StageSearch& other = for_speed() ? cheapest_ : fastest_;
  std::optional<Plan> plan = wanted.Solve(branch.first, branch.order);
  if (plan && !is_within(plan)) plan = other.Solve(branch.first, branch.order);
  if (!is_within(plan)) return std::nullopt;
  return plan;
}

void SizeSearch::Run(std::vector<std::tuple<int, int, int, Plan>>& plans) {
  std::vector<Branch> branches = Branches();
  const std::vector<int> degrees = DpDegrees();
  for (size_t i = 0; i < degrees.size(); ++i) {
    const int dp = degrees[i];
    // Each degree has its part of the steps, and what earlier ones left.
    effort_.Allow(PartOf(most_steps_, degrees.size()) *
                  static_cast<int64_t>(i + 1));
    fastest_.Begin(dp, Microbatches(dp));
    cheapest_.Begin(dp, Microbatches(dp));
    for (Branch& branch : branches) {
      // Fewer replicas take longer, so the branch ends here.
      branch.ended = branch.ended || MustBeSlow(branch);
      if (branch.ended) continue;
      std::optional<Plan> plan = SolveBranch(branch);
      if (!plan) continue;
      const double value = for_speed() ? plan->iteration_s : plan->dollars;
      branch.ended = value >= branch.best;
      if (branch.ended) continue;
      branch.best = value;
      if (for_speed() && !settings_.rules.tries_slow_plans) {
        limit_s_ = std::min(limit_s_, kMostSlowdown * plan->iteration_s);
      }
      plan->samples = samples_;
      plans.emplace_back(branch.num_stages, samples_, branch.order,
                         std::move(*plan));
    }
  }
}

}  // namespace

absl::StatusOr<Found> Search(const Input& input, const Settings& settings,
                             absl::FunctionRef<bool()> should_stop) {
  TANGRAM_RETURN_IF_ERROR(CheckInput(input));
  TANGRAM_RETURN_IF_ERROR(CheckSettings(settings));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<Region> regions, RegionsOf(input));
  const std::vector<std::vector<int>> orders = RegionOrders(input, regions);
  const PathTable paths(input);
  std::set<int> sizes;
  for (const auto& [key, profile] : input.profiles) sizes.insert(key.samples);
  std::vector<std::tuple<int, int, int, Plan>> plans;
  Found found;
  double limit_s = kInfinity;
  for (const int samples : sizes) {
    Effort effort{.should_stop = should_stop};
    SizeSearch search(input, settings, paths, regions, orders, samples,
                      // Each size has its part of the steps.
                      PartOf(settings.most_steps, sizes.size()), effort,
                      limit_s);
    found.fits_memory = found.fits_memory || search.fits_memory();
    search.Run(plans);
    if (effort.told) {
      return absl::CancelledError("planning stopped");
    }
    found.steps += effort.steps;
    found.truncated = found.truncated || effort.truncated;
  }
  const bool for_speed = settings.objective == Objective::kFastest;
  const auto value = [&](const Plan& plan) {
    return for_speed ? plan.iteration_s : plan.dollars;
  };
  // Equal plans: few stages and small microbatches come first.
  std::stable_sort(
      plans.begin(), plans.end(), [&](const auto& a, const auto& b) {
        const auto& [stages_a, samples_a, order_a, plan_a] = a;
        const auto& [stages_b, samples_b, order_b, plan_b] = b;
        return std::tuple(value(plan_a), stages_a, samples_a, order_a) <
               std::tuple(value(plan_b), stages_b, samples_b, order_b);
      });
  for (auto& [stages, samples, order, plan] : plans) {
    found.plans.push_back(std::move(plan));
  }
  return found;
}

}  // namespace tangram::sailor
