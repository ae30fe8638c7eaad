#include "coordinator/planners/rivals/sailor/stage_search.h"

#include <algorithm>
#include <utility>

#include "common/base/infinity.h"

namespace tangram::sailor {
namespace {

// The most zones of a region.
int MostZones(const std::vector<Region>& regions) {
  size_t most = 0;
  for (const Region& region : regions) {
    most = std::max(most, region.zones.size());
  }
  return static_cast<int>(most);
}

}  // namespace

StageSearch::StageSearch(const Input& input, const Rules& rules,
                         const PathTable& paths,
                         const std::vector<Region>& regions,
                         const std::vector<std::vector<int>>& orders,
                         const StageChains& chains, Objective objective,
                         const double& limit_s, Effort& effort)
    : input_(input),
      rules_(rules),
      paths_(paths),
      regions_(regions),
      orders_(orders),
      chains_(chains),
      objective_(objective),
      limit_s_(limit_s),
      effort_(effort),
      num_types_(static_cast<int>(input.types.size())),
      memo_(2 + num_types_ *
                    (rules.shares_states_by_counts ? 1 : MostZones(regions))),
      reduce_s_(chains.num_chain_stages() * paths.num_paths(), -1),
      send_s_(chains.num_chain_stages() * paths.num_paths(), -1) {}

void StageSearch::Begin(int dp, int num_microbatches) {
  dp_ = dp;
  num_microbatches_ = num_microbatches;
  memo_.Clear();
  partials_.clear();
  runs_.clear();
  std::fill(reduce_s_.begin(), reduce_s_.end(), -1);
}

double StageSearch::LeastSeconds(int first) const {
  const ChainStage& chain = chains_.stage(first);
  return (num_microbatches_ - 1) * chain.slowest_s + chain.passes_s;
}

std::optional<Plan> StageSearch::Solve(int first, int order) {
  order_ = order;
  Counts counts;
  for (const Zone& zone : input_.zones) {
    counts.insert(counts.end(), zone.gpus.begin(), zone.gpus.end());
  }
  const int best = SolveChain(first, 0, counts);
  if (best < 0) return std::nullopt;
  return PlanOf(best);
}

void StageSearch::SetKey(int stage, int position, const Counts& counts) {
  const Region& region = regions_[orders_[order_][position]];
  const bool whole = chains_.stage(stage).first_layer == 0;
  key_.clear();
  key_.push_back(chains_.stage(stage).state);
  if (rules_.shares_states_by_counts) {
    // Whole pipelines are of one order; parts of them are shared.
    key_.push_back(whole ? -1 - order_ : orders_[order_][position]);
    for (int type = 0; type < num_types_; ++type) {
      int32_t total = 0;
      for (const int zone : region.zones) {
        total += counts[zone * num_types_ + type];
      }
      key_.push_back(total);
    }
    return;
  }
  key_.push_back(order_ * kMostRegions + position);
  for (const int zone : region.zones) {
    const auto begin = counts.begin() + zone * num_types_;
    key_.insert(key_.end(), begin, begin + num_types_);
  }
}

int StageSearch::SolveChain(int stage, int position, const Counts& counts) {
  if (!rules_.shares_states_by_counts &&
      !MayFit(chains_.stage(stage), position, counts)) {
    return -1;
  }
  SetKey(stage, position, counts);
  key_.resize(memo_.width(), 0);
  if (const int known = memo_.Find(key_); known != StateMemo::kAbsent) {
    return known;
  }
  const int best = SolveMixes(stage, position, counts);
  SetKey(stage, position, counts);
  key_.resize(memo_.width(), 0);
  memo_.Set(key_, best);
  return best;
}

// Whether the GPUs left, here and in later regions, could hold all stages if
// each were of its type's least degree.
bool StageSearch::MayFit(const ChainStage& stage, int position,
                         const Counts& counts) const {
  const std::vector<int>& order = orders_[order_];
  int64_t replicas = 0;
  for (size_t i = position; i < order.size(); ++i) {
    for (const int zone : regions_[order[i]].zones) {
      for (int type = 0; type < num_types_; ++type) {
        const int tp = stage.least_tp[type];
        if (tp > 0) replicas += counts[zone * num_types_ + type] / tp;
      }
    }
  }
  return replicas >= int64_t{dp_} * stage.num_stages;
}

StageSearch::Mix StageSearch::ReplicasLeft(const ChainStage& stage, int region,
                                           const Counts& counts) const {
  Mix left(num_types_, 0);
  for (const int zone : regions_[region].zones) {
    for (int type = 0; type < num_types_; ++type) {
      const int tp = stage.types[type].tp;
      if (tp > 0) left[type] += counts[zone * num_types_ + type] / tp;
    }
  }
  return left;
}

int StageSearch::PositionBehind(const ChainStage& stage, int position,
                                const Counts& counts) const {
  const std::vector<int>& order = orders_[order_];
  const Mix left =
      ReplicasLeft(chains_.stage(stage.next), order[position], counts);
  int replicas = 0;
  for (const int of_type : left) replicas += of_type;
  if (replicas >= dp_) return position;
  return position + 1 < static_cast<int>(order.size()) ? position + 1 : -1;
}

void StageSearch::VisitMixes(const Mix& available, int type, int left, Mix& mix,
                             absl::FunctionRef<void(const Mix&)> visit) const {
  if (effort_.stopped) return;
  if (type == num_types_ - 1) {
    mix[type] = left;
    if (left <= available[type]) visit(mix);
    return;
  }
  int behind = 0;
  for (int i = type + 1; i < num_types_; ++i) behind += available[i];
  for (const int count : CountsOf(type, std::max(0, left - behind),
                                  std::min(left, available[type]), left)) {
    mix[type] = count;
    VisitMixes(available, type + 1, left - count, mix, visit);
  }
}

// A mix is as fast as any other of the same types, and its price is linear in
// the counts. So one count of a mixed type is enough, or the extreme ones.
StageSearch::Mix StageSearch::CountsOf(int type, int least, int most,
                                       int left) const {
  Mix counts;
  const auto add = [&](int first, int last) {
    for (int count = first; count <= last; ++count) counts.push_back(count);
  };
  if (rules_.tries_all_counts && type < num_types_ - 2) {
    add(least, most);
    return counts;
  }
  const int most_mixed = std::min(most, left - 1);
  if (least == 0) add(0, 0);
  if (rules_.tries_all_counts) {
    const int least_mixed = std::max(1, least);
    if (least_mixed <= most_mixed) add(least_mixed, least_mixed);
  } else {
    if (least > 0 && least <= most_mixed) add(least, least);
    // Less than `left` is all that there is.
    if (most == most_mixed && most > least) add(most, most);
  }
  if (most == left && left > 0) add(left, left);
  return counts;
}

StageSearch::Runs StageSearch::Place(const ChainStage& stage, int region,
                                     const Mix& mix, Counts& counts) const {
  Runs runs;
  for (int type = 0; type < num_types_; ++type) {
    const int tp = stage.types[type].tp;
    int left = mix[type];
    for (const int zone : regions_[region].zones) {
      if (left == 0) break;
      int32_t& gpus = counts[zone * num_types_ + type];
      const int taken = std::min(left, gpus / tp);
      if (taken == 0) continue;
      gpus -= taken * tp;
      left -= taken;
      runs.push_back({zone, type, paths_.IndexOf(zone, type, tp), taken});
    }
  }
  return runs;
}

double StageSearch::SendTimeOf(int stage, int path) {
  double& time_s = send_s_[stage * paths_.num_paths() + path];
  if (time_s < 0) {
    time_s = SendTime(paths_.path(path), chains_.stage(stage).boundary_bytes,
                      rules_.unbounded_paths);
  }
  return time_s;
}

// The ring is as slow as its slowest path. Empty: a path is not known.
std::optional<double> StageSearch::ReduceTimeOf(int stage,
                                                absl::Span<const Run> runs) {
  if (dp_ == 1) return 0;
  int slowest = -1;
  const auto look = [&](int path) {
    if (path < 0) return false;
    if (slowest < 0 || paths_.path(path).most_bytes_per_s <
                           paths_.path(slowest).most_bytes_per_s) {
      slowest = path;
    }
    return true;
  };
  for (const Run& from : runs) {
    for (const Run& to : runs) {
      const bool itself = &from == &to;
      if (rules_.reduces_in_first_zone ? !itself : itself && from.count == 1) {
        continue;
      }
      if (!look(paths_.PathOf(from.end, to.end))) return std::nullopt;
    }
  }
  double& time_s = reduce_s_[stage * paths_.num_paths() + slowest];
  if (time_s < 0) {
    time_s =
        ReduceTime(paths_.path(slowest), chains_.stage(stage).gradient_bytes,
                   dp_, rules_.unbounded_paths);
  }
  return time_s;
}

// A stage as a pipeline of its own: T = M · t + reduction + update.
std::optional<StageSearch::Partial> StageSearch::Alone(
    int index, absl::Span<const Run> runs) {
  const ChainStage& stage = chains_.stage(index);
  const std::optional<double> reduce_s = ReduceTimeOf(index, runs);
  if (!reduce_s) return std::nullopt;
  Partial alone{.reduce_s = *reduce_s, .stage = index};
  int zones = 0;
  for (const Run& run : runs) {
    const TypeFigures& figures = stage.types[run.type];
    alone.passes_s = std::max(alone.passes_s, figures.pass_s);
    alone.update_s = std::max(alone.update_s, figures.update_s);
    alone.dollars_per_s +=
        run.count * figures.tp * input_.types[run.type].dollars_per_hour / 3600;
    const bool is_new =
        std::none_of(runs.begin(), runs.begin() + (&run - runs.data()),
                     [&](const Run& other) { return other.zone == run.zone; });
    zones += is_new ? 1 : 0;
  }
  alone.slowest_s = alone.passes_s;
  alone.first_s = alone.passes_s;
  alone.iteration_s =
      num_microbatches_ * alone.passes_s + alone.reduce_s + alone.update_s;
  if (zones > 1) {
    alone.transfer_dollars = 2.0 * (dp_ - 1) * zones * stage.gradient_bytes /
                             dp_ / 1e9 * input_.reduction_dollars_per_gb;
  }
  return alone;
}

// A stage before a pipeline: T = (M - 1) · slowest + passes + transfers +
// reduction + update, where a transfer counts with the stage on either side.
std::optional<StageSearch::Partial> StageSearch::Before(
    const Partial& first, absl::Span<const Run> runs, int rest) {
  const Partial& behind = partials_[rest];
  const double bytes = chains_.stage(first.stage).boundary_bytes;
  double send_s = 0;
  double dollars = 0;
  // Both sides have dp replicas. Walks along their runs.
  int next = behind.first_run;
  int left = runs_[next].count;
  for (const Run& from : runs) {
    for (int count = from.count; count > 0;) {
      if (left == 0) left = runs_[++next].count;
      const Run& to = runs_[next];
      const int path = paths_.PathOf(from.end, to.end);
      if (path < 0) return std::nullopt;
      send_s = std::max(send_s, SendTimeOf(first.stage, path));
      const int pairs = std::min(count, left);
      if (!input_.dollars_per_gb.empty()) {
        dollars += pairs * input_.dollars_per_gb[from.zone][to.zone] * bytes /
                   1e9 * num_microbatches_ * 2;
      }
      count -= pairs;
      left -= pairs;
    }
  }
  Partial merged = first;
  merged.next = rest;
  merged.slowest_s = std::max(
      {first.slowest_s + send_s, behind.first_s + send_s, behind.slowest_s});
  merged.first_s = first.passes_s + send_s;
  merged.passes_s = first.passes_s + behind.passes_s;
  merged.transfers_s = behind.transfers_s + send_s + send_s;
  merged.reduce_s = std::max(first.reduce_s, behind.reduce_s);
  merged.update_s =
      rules_.forgets_update ? 0 : std::max(first.update_s, behind.update_s);
  merged.iteration_s = (num_microbatches_ - 1) * merged.slowest_s +
                       merged.transfers_s + merged.passes_s + merged.update_s +
                       merged.reduce_s;
  merged.dollars_per_s = first.dollars_per_s + behind.dollars_per_s;
  merged.transfer_dollars =
      first.transfer_dollars + behind.transfer_dollars + dollars;
  return merged;
}

bool StageSearch::IsBetter(const Partial& a, const Partial& b) const {
  if (objective_ == Objective::kCheapest && a.dollars() != b.dollars()) {
    return a.dollars() < b.dollars();
  }
  return a.iteration_s < b.iteration_s;
}

int StageSearch::SolveMixes(int index, int position, const Counts& counts) {
  const ChainStage& stage = chains_.stage(index);
  const int region = orders_[order_][position];
  const bool is_last = stage.next < 0;
  if (objective_ == Objective::kCheapest && rules_.cheapest_has_one_stage &&
      stage.num_stages > 1) {
    return -1;
  }
  std::optional<Partial> best;
  Runs best_runs;
  double last_s = kInfinity;
  const auto offer = [&](const std::optional<Partial>& partial,
                         const Runs& runs) {
    if (partial && (!best || IsBetter(*partial, *best))) {
      best = partial;
      best_runs = runs;
    }
  };
  const auto visit = [&](const Mix& mix) {
    if (!effort_.Step()) return;
    Counts left = counts;
    const Runs runs = Place(stage, region, mix, left);
    if (is_last) return offer(Alone(index, runs), runs);
    const int behind = PositionBehind(stage, position, left);
    if (behind < 0) return;
    const std::optional<Partial> alone = Alone(index, runs);
    if (!alone) return;
    if ((num_microbatches_ - 1) * alone->passes_s + stage.passes_s > limit_s_) {
      return;
    }
    if (rules_.skips_equal_mixes && objective_ == Objective::kFastest &&
        alone->iteration_s == last_s) {
      return;
    }
    last_s = alone->iteration_s;
    const int rest = SolveChain(stage.next, behind, left);
    if (rest >= 0) offer(Before(*alone, runs, rest), runs);
  };
  const Mix available = ReplicasLeft(stage, region, counts);
  int replicas = 0;
  for (const int of_type : available) replicas += of_type;
  Mix mix(num_types_, 0);
  if (replicas >= dp_) VisitMixes(available, 0, dp_, mix, visit);
  if (!best) return -1;
  best->first_run = static_cast<int>(runs_.size());
  best->num_runs = static_cast<int>(best_runs.size());
  runs_.insert(runs_.end(), best_runs.begin(), best_runs.end());
  partials_.push_back(*best);
  return static_cast<int>(partials_.size()) - 1;
}

Plan StageSearch::PlanOf(int partial) const {
  Plan plan{.dp = dp_,
            .iteration_s = partials_[partial].iteration_s,
            .dollars = partials_[partial].dollars(),
            .stages = {}};
  for (int i = partial; i >= 0; i = partials_[i].next) {
    const Partial& here = partials_[i];
    const ChainStage& chain = chains_.stage(here.stage);
    Stage& stage = plan.stages.emplace_back(
        Stage{chain.first_layer, chain.num_layers, {}});
    for (int j = 0; j < here.num_runs; ++j) {
      const Run& run = runs_[here.first_run + j];
      stage.replicas.push_back(
          {run.zone, run.type, chain.types[run.type].tp, run.count});
    }
  }
  return plan;
}

}  // namespace tangram::sailor
