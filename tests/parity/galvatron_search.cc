#include "tests/parity/galvatron_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "worker/adapters/search/layer_frontier.h"

namespace tangram::parity {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class Mode { kTensor, kUlysses, kEither };

// One search of upstream's: all plans with one microbatch count, pipeline
// depth, largest degree of tensor or Ulysses parallelism, and use of the two.
struct Task {
  int chunks = 1;
  int pp = 1;
  Mode mode = Mode::kEither;
  int max_degree = 1;
  double bound_s = 0;  // A lower bound on the time of every plan.
};

// Above this size, upstream plans with less than the whole memory: a fifth is
// left to PyTorch's cache.
constexpr int kUncachedGigabytes = 20;

int BudgetMegabytes(const GalvatronRun& run) {
  const int all = run.memory_gb * 1024;
  return run.memory_gb > kUncachedGigabytes ? all - static_cast<int>(0.2 * all)
                                            : all;
}

std::vector<int> EvenStages(int num_layers, int pp) {
  std::vector<int> stages(pp, num_layers / pp);
  stages.back() += num_layers % pp;
  return stages;
}

std::vector<Task> TasksOf(const GalvatronProfile& profile,
                          const GalvatronRun& run) {
  std::vector<Task> tasks;
  for (int chunks = 1; chunks <= run.global_batch; ++chunks) {
    if (run.global_batch % chunks != 0) continue;
    if (run.chunks > 0 && chunks != run.chunks) continue;
    for (int pp = 1; pp <= std::min({chunks, run.num_layers, profile.num_gpus});
         pp *= 2) {
      const int gpus = profile.num_gpus / pp;
      const int max_dp = std::max(1, std::min(run.global_batch / chunks, gpus));
      for (const Mode mode : {Mode::kTensor, Mode::kUlysses, Mode::kEither}) {
        const int min_degree =
            mode == Mode::kUlysses ? gpus : std::max(1, gpus / max_dp);
        for (int degree = min_degree; degree <= gpus; degree *= 2) {
          tasks.push_back({chunks, pp, mode, degree});
        }
      }
    }
  }
  return tasks;
}

// Returns the strategies that a task may use; for embedding and head, those
// without checkpoints.
std::vector<LayerStrategy> StrategiesOf(const Task& task,
                                        const GalvatronProfile& profile,
                                        const GalvatronRun& run, bool ends) {
  std::vector<LayerStrategy> kept;
  for (const LayerStrategy& s : LayerStrategies(profile, run, task.pp)) {
    const bool too_many_replicas =
        s.dp > std::max(1, run.global_batch / task.chunks);
    if (s.degree() > task.max_degree || too_many_replicas) continue;
    if (task.mode == Mode::kTensor && s.ulysses > 1) continue;
    if (task.mode == Mode::kUlysses && s.tp > 1) continue;
    if (ends && s.checkpoint) continue;
    kept.push_back(s);
  }
  return kept;
}

// Returns the seconds of each stage of a plan.
std::vector<StrategySeconds> StagesOf(const GalvatronCost& cost,
                                      const GalvatronPlan& plan) {
  const int pp = plan.ends.pp;
  std::vector<StrategySeconds> stages(pp);
  const std::vector<StrategySeconds> end_seconds =
      cost.EndSeconds(plan.ends, plan.chunks);
  const std::vector<int> num_layers =
      EvenStages(static_cast<int>(plan.layers.size()), pp);
  auto next = plan.layers.begin();
  for (int i = 0; i < pp; ++i) {
    stages[i].without_sync = end_seconds[i].without_sync;
    for (int j = 0; j < num_layers[i]; ++j) {
      const StrategySeconds layer = cost.LayerSeconds(*next++, plan.chunks);
      stages[i].with_sync += layer.with_sync;
      stages[i].without_sync += layer.without_sync;
    }
  }
  return stages;
}

class Solver {
 public:
  Solver(const GalvatronProfile& profile, const GalvatronRun& run)
      : profile_(profile), run_(run), cost_(profile, run) {}

  GalvatronAnswer Run() {
    std::vector<Task> tasks = TasksOf(profile_, run_);
    best_.num_tasks = static_cast<int>(tasks.size());
    for (Task& task : tasks) task.bound_s = BoundOf(task);
    absl::c_stable_sort(tasks, [](const Task& a, const Task& b) {
      return a.bound_s < b.bound_s;
    });
    for (const Task& task : tasks) {
      if (task.bound_s >= best_.time_s) break;
      run_.fine_grained ? SolveMixed(task) : SolveUniform(task);
    }
    return best_;
  }

 private:
  // Takes the fastest choice of every layer and every end of the pipeline.
  double BoundOf(const Task& task) const {
    double layer_s = kNever;
    for (const LayerStrategy& s : StrategiesOf(task, profile_, run_, false)) {
      layer_s =
          std::min(layer_s, cost_.LayerSeconds(s, task.chunks).without_sync);
    }
    std::vector<StrategySeconds> stages(task.pp, {.without_sync = kNever});
    for (const LayerStrategy& s : StrategiesOf(task, profile_, run_, true)) {
      const std::vector<StrategySeconds> ends =
          cost_.EndSeconds(s, task.chunks);
      for (int i = 0; i < task.pp; ++i) {
        stages[i].without_sync =
            std::min(stages[i].without_sync, ends[i].without_sync);
      }
    }
    const std::vector<int> num_layers = EvenStages(run_.num_layers, task.pp);
    for (int i = 0; i < task.pp; ++i) {
      stages[i].without_sync += num_layers[i] * layer_s;
    }
    return PipelineSeconds(stages, task.chunks);
  }

  int EndMegabytes(const LayerStrategy& ends, const Task& task,
                   int stage) const {
    const double buffer =
        task.mode == Mode::kUlysses
            ? 0
            : cost_.BufferMegabytes(task.pp, task.max_degree, task.chunks);
    return static_cast<int>(
               std::ceil(cost_.EndMegabytesOf(ends, task.chunks, stage))) +
           static_cast<int>(buffer);
  }

  void Offer(const GalvatronPlan& plan) {
    const double time_s = PipelineSeconds(StagesOf(cost_, plan), plan.chunks);
    if (time_s >= best_.time_s) return;
    best_.time_s = time_s;
    best_.plan = plan;
  }

  LayerFrontier FrontierOf(absl::Span<const LayerStrategy> strategies,
                           const Task& task, int stage, int num_layers,
                           int budget) const {
    std::vector<LayerChoice> choices;
    std::vector<double> transition_s;
    int least = std::numeric_limits<int>::max();
    for (const LayerStrategy& s : strategies) {
      const int megabytes = static_cast<int>(
          std::ceil(cost_.LayerMegabytes(s, task.chunks, stage)));
      least = std::min(least, megabytes);
      choices.push_back(
          {.memory = megabytes,
           .seconds = cost_.LayerSeconds(s, task.chunks).with_sync});
      for (const LayerStrategy& to : strategies) {
        transition_s.push_back(cost_.TransitionSeconds(s, to, task.chunks));
      }
    }
    LayerFrontier frontier(static_cast<int>(strategies.size()),
                           std::move(transition_s));
    for (int i = 0; i < num_layers; ++i) {
      frontier.Append(choices, budget - least * (num_layers - 1 - i));
    }
    return frontier;
  }

  // One frontier for each stage covers all strategies of embedding and head.
  void SolveMixed(const Task& task) {
    const std::vector<LayerStrategy> strategies =
        StrategiesOf(task, profile_, run_, false);
    const std::vector<LayerStrategy> all_ends =
        StrategiesOf(task, profile_, run_, true);
    const std::vector<int> stage_layers = EvenStages(run_.num_layers, task.pp);
    std::vector<std::vector<LayerStrategy>> plans(all_ends.size());
    for (int stage = 0; stage < task.pp; ++stage) {
      std::vector<int> budgets;
      for (const LayerStrategy& ends : all_ends) {
        budgets.push_back(BudgetMegabytes(run_) -
                          EndMegabytes(ends, task, stage));
      }
      const int num_layers = stage_layers[stage];
      const LayerFrontier frontier = FrontierOf(
          strategies, task, stage, num_layers, *absl::c_max_element(budgets));
      for (size_t i = 0; i < all_ends.size(); ++i) {
        const std::optional<int> label =
            frontier.FastestWithin(num_layers, budgets[i]);
        if (!label.has_value()) continue;
        for (const uint8_t choice : frontier.ChoicesOf(num_layers, *label)) {
          plans[i].push_back(strategies[choice]);
        }
      }
    }
    for (size_t i = 0; i < all_ends.size(); ++i) {
      if (static_cast<int>(plans[i].size()) != run_.num_layers) continue;
      Offer({.chunks = task.chunks,
             .ends = all_ends[i],
             .layers = std::move(plans[i])});
    }
  }

  // All layers are alike, and embedding and head with them.
  void SolveUniform(const Task& task) {
    const std::vector<int> stage_layers = EvenStages(run_.num_layers, task.pp);
    for (const LayerStrategy& s : StrategiesOf(task, profile_, run_, false)) {
      LayerStrategy ends = s;
      ends.checkpoint = false;
      bool fits = true;
      for (int stage = 0; stage < task.pp; ++stage) {
        const double layer_mb =
            std::ceil(cost_.LayerMegabytes(s, task.chunks, stage));
        fits &=
            stage_layers[stage] * layer_mb + EndMegabytes(ends, task, stage) <=
            BudgetMegabytes(run_);
      }
      if (!fits) continue;
      Offer({.chunks = task.chunks,
             .ends = ends,
             .layers = std::vector<LayerStrategy>(run_.num_layers, s)});
    }
  }

  const GalvatronProfile& profile_;
  const GalvatronRun& run_;
  const GalvatronCost cost_;
  GalvatronAnswer best_;
};

}  // namespace

std::vector<LayerStrategy> LayerStrategies(const GalvatronProfile& profile,
                                           const GalvatronRun& run, int pp) {
  std::vector<LayerStrategy> all;
  const int max_pp = std::min(profile.num_gpus, run.num_layers);
  for (int depth = 1; depth <= max_pp; depth *= 2) {
    if (pp > 0 && depth != pp) continue;
    const int gpus = profile.num_gpus / depth;
    for (int degree = 1; degree <= gpus; degree *= 2) {
      for (const bool ulysses : {false, true}) {
        if (ulysses && (degree == 1 || !run.ulysses)) continue;
        const int dp = gpus / degree;
        for (const bool zero3 : {false, true}) {
          if (zero3 && dp == 1) continue;
          for (const bool checkpoint : {false, true}) {
            if (checkpoint && !run.checkpoints) continue;
            all.push_back({.pp = depth,
                           .tp = ulysses ? 1 : degree,
                           .ulysses = ulysses ? degree : 1,
                           .dp = dp,
                           .zero3 = zero3,
                           .checkpoint = checkpoint});
          }
        }
      }
    }
  }
  return all;
}

GalvatronAnswer SolveGalvatron(const GalvatronProfile& profile,
                               const GalvatronRun& run) {
  return Solver(profile, run).Run();
}

double ScoreOf(const GalvatronProfile& profile, const GalvatronRun& run,
               const GalvatronPlan& plan) {
  return PipelineSeconds(StagesOf(GalvatronCost(profile, run), plan),
                         plan.chunks);
}

}  // namespace tangram::parity
