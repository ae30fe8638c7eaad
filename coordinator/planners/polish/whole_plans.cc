#include "coordinator/planners/polish/whole_plans.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"
#include "common/sim/stage_estimator.h"
#include "coordinator/planners/constraints/limit_islands.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/polish/plan_moves.h"
#include "coordinator/planners/polish/stage_table.h"
#include "coordinator/planners/polish/stage_tuner.h"

namespace tangram {
namespace {

// Partial pipelines that are kept at each cut, of each number of stages, and on
// the same GPUs.
constexpr size_t kMostTails = 96;
constexpr size_t kMostOfStages = 24;
constexpr int kMostOfGpus = 2;

// Whole pipelines that are kept of each microbatch size, and of each kind.
constexpr size_t kMostOfMicrobatch = 24;
constexpr int kMostOfKind = 2;

// The estimate of a plan may exceed its time by so much: it is that of 1F1B
// before small changes, and other schedules take less.
constexpr double kEstimateSlack = 0.2;

// GPUs of an island of which a stage may have any number.
constexpr int kFewGpus = 8;

// More cuts are not looked at than between layers.
constexpr size_t kMostCuts = 24;

// The maker of the stages; see PlacedStage.
constexpr char kMaker[] = "tangram";

// The unused GPUs of each node. Those of a node are taken in order.
using FreeGpus = std::vector<int8_t>;

// GPUs for a stage.
struct Grant {
  int island = 0;
  int place_index = 0;
  std::vector<GpuId> gpus;
  FreeGpus free;  // Afterwards.
};

// The last stages of a pipeline, with an estimate of their times.
struct Tail {
  int next = -1;  // Index of the tail behind the first stage; -1: none.
  int begin = 0;  // Where the first stage begins: an index of a cut.
  int num_stages = 0;
  int island = 0;  // The first stage is there.
  const StageWay* way = nullptr;
  std::vector<GpuId> gpus;
  FreeGpus free;
  double front_s = 0;    // A microbatch in the first stage.
  double period_s = 0;   // One microbatch of the steady state.
  double latency_s = 0;  // A microbatch through all stages and back.
  double exposed_s = 0;  // After the last pass of the first stage.
  double bound_s = 0;    // An estimate of the whole pipeline.
};

// A tail that is not made yet.
struct Draft {
  Tail tail;
  const Grant* grant = nullptr;
};

// A vector would take as much memory again at once as it grows.
using Drafts = std::deque<Draft>;

// Returns where stages begin and end: between layers, and then also inside them
// if there are few.
std::vector<std::vector<OperatorCut>> CutsFor(const ModelSpec& model,
                                              const PipelineRules& rules) {
  std::vector<std::vector<OperatorCut>> lists;
  for (const Runtime::Cuts cuts :
       {Runtime::Cuts::kLayers, Runtime::Cuts::kResiduals}) {
    std::vector<OperatorCut> list = CutsOf(model, cuts);
    const bool is_first = lists.empty();
    if (!is_first && (cuts > FinestCuts(rules) || list.size() > kMostCuts)) {
      break;
    }
    list.push_back({model.num_layers(), 0});
    lists.push_back(std::move(list));
  }
  return lists;
}

class Composer {
 public:
  Composer(const PlanRequest& request, const PipelineRules& rules,
           const std::vector<Island>& islands, const IslandRules& allowed,
           double limit_s, PlanObserver& observer)
      : request_(request),
        rules_(rules),
        islands_(islands),
        allowed_(allowed),
        limit_s_(limit_s * (1 + kEstimateSlack)),
        observer_(observer),
        estimator_(request.model, request.cluster, request.training),
        tuner_(request, rules, PipelinePlan(), estimator_),
        table_(request, rules, islands, estimator_, tuner_) {}

  // Adds the pipelines of a microbatch size, with stages that begin and end at
  // these cuts.
  absl::Status Compose(int microbatch_size, std::vector<OperatorCut> cuts) {
    microbatch_size_ = microbatch_size;
    cuts_ = std::move(cuts);
    num_microbatches_ = request_.training.global_batch_size / microbatch_size;
    const int num_pieces = static_cast<int>(cuts_.size()) - 1;
    tails_.clear();
    drafts_.clear();
    drafts_.resize(num_pieces + 1);
    SetWork();
    Tail none{.begin = num_pieces};
    for (const Node& node : request_.cluster->nodes) {
      none.free.push_back(static_cast<int8_t>(node.num_gpus));
    }
    drafts_[num_pieces].push_back({.tail = std::move(none)});
    for (int begin = num_pieces; begin > 0; --begin) {
      for (const int tail : KeepTails(begin)) {
        if (observer_.ShouldStop()) {
          return absl::CancelledError("planning stopped");
        }
        Extend(tail);
      }
      drafts_[begin].clear();
    }
    KeepWhole();
    return absl::OkStatus();
  }

  std::vector<PipelinePlan> Plans() && {
    absl::c_stable_sort(
        whole_, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<PipelinePlan> plans;
    for (auto& [seconds, plan] : whole_) plans.push_back(std::move(plan));
    return plans;
  }

 private:
  // Sets the GPU-seconds of the model before each cut, on each island.
  void SetWork() {
    work_before_.assign(islands_.size(), {});
    for (const Island& island : islands_) {
      std::vector<double>& work = work_before_[island.id];
      work.push_back(0);
      for (size_t c = 0; c + 1 < cuts_.size(); ++c) {
        work.push_back(work.back() +
                       (allowed_.IsUsable(island.id)
                            ? table_.LeastWork(microbatch_size_, island.id,
                                               cuts_[c], cuts_[c + 1])
                            : kInfinity));
      }
    }
  }

  // Returns the least time of a microbatch, if the unused GPUs share the layers
  // before the tail evenly.
  double LeastPeriod(int begin, const FreeGpus& free) const {
    if (begin == 0) return 0;
    double rate = 0;
    for (const Island& island : islands_) {
      int num_free = 0;
      for (const int node : island.nodes) num_free += free[node];
      rate += num_free / work_before_[island.id][begin];
    }
    return rate > 0 ? 1 / rate : kInfinity;
  }

  // Returns tails of the drafts that begin at the layer, with the least bounds
  // and unlike enough.
  std::vector<int> KeepTails(int begin) {
    Drafts& drafts = drafts_[begin];
    absl::c_stable_sort(drafts, [](const Draft& a, const Draft& b) {
      return a.tail.bound_s < b.tail.bound_s;
    });
    std::vector<int> kept;
    std::map<int, size_t> of_stages;
    std::map<std::pair<int, std::vector<std::vector<int8_t>>>, int> of_gpus;
    for (Draft& draft : drafts) {
      Tail& tail = draft.tail;
      if (kept.size() == kMostTails || tail.bound_s > limit_s_) break;
      if (of_stages[tail.num_stages] == kMostOfStages) continue;
      if (draft.grant != nullptr) {
        tail.gpus = draft.grant->gpus;
        tail.free = draft.grant->free;
      }
      if (++of_gpus[{tail.num_stages, Canonical(tail.free)}] > kMostOfGpus) {
        continue;
      }
      ++of_stages[tail.num_stages];
      kept.push_back(static_cast<int>(tails_.size()));
      tails_.push_back(std::move(tail));
    }
    return kept;
  }

  // Nodes of an island are alike.
  std::vector<std::vector<int8_t>> Canonical(const FreeGpus& free) const {
    std::vector<std::vector<int8_t>> canonical;
    for (const Island& island : islands_) {
      std::vector<int8_t>& counts = canonical.emplace_back();
      for (const int node : island.nodes) counts.push_back(free[node]);
      absl::c_sort(counts);
    }
    return canonical;
  }

  // Drafts the tails with one stage more.
  void Extend(int index) {
    // Copied, as tails move when more are added.
    const Tail tail = tails_[index];
    if (tail.num_stages >= allowed_.max_stages) return;
    const int held = std::min(num_microbatches_, tail.num_stages + 1);
    for (const Grant* grant : GrantsOf(tail.free)) {
      if (IsFull(index, grant->island)) continue;
      const Transfer transfer = TransferTo(*grant, tail);
      const StageTable::Place place{grant->island, grant->gpus};
      for (int begin = tail.begin - 1; begin >= 0; --begin) {
        if (!Allows(begin, tail.begin, grant->island)) break;
        const std::vector<StageWay>& ways =
            table_.WaysOf(microbatch_size_, grant->place_index, place,
                          cuts_[begin], cuts_[tail.begin], held);
        bool is_short = ways.empty();
        for (const StageWay& way : ways) {
          is_short |= num_microbatches_ * way.pass_s() <= limit_s_;
          Add(tail, index, *grant, transfer, way, begin);
        }
        // More layers would take longer.
        if (!is_short) break;
      }
    }
  }

  // Returns whether pins leave what is between two cuts to the island.
  bool Allows(int begin, int end, int island) const {
    const OperatorCut last = cuts_[end];
    return allowed_.Allows(cuts_[begin].layer,
                           last.layer + (last.op > 0 ? 1 : 0), island);
  }

  // Returns whether the tail has as many stages on the island as it may.
  bool IsFull(int index, int island) const {
    const int most = allowed_.limits[island].max_stages;
    if (most == 0) return false;
    int count = 0;
    for (int t = index; t >= 0; t = tails_[t].next) {
      count += tails_[t].way != nullptr && tails_[t].island == island;
    }
    return count >= most;
  }

  struct Transfer {
    double forward_s = 0;
    double backward_s = 0;
    double both_s() const { return forward_s + backward_s; }
  };

  Transfer TransferTo(const Grant& grant, const Tail& tail) {
    if (tail.way == nullptr) return {};
    const OperatorCut cut = cuts_[tail.begin];
    const double bytes = BoundaryBytes(request_.model.layers[cut.layer], cut.op,
                                       microbatch_size_, request_.training);
    return {
        TransferSeconds(bytes, estimator_.PathBetween(grant.gpus, tail.gpus)),
        TransferSeconds(bytes, estimator_.PathBetween(tail.gpus, grant.gpus))};
  }

  // With the windows of one and of two stages, and the occupancy of the link,
  //   period = max(t_s, (t_s + c_s + t_{s+1}) / 2, c),
  //   T = Σ (t + c) + (B − 1) period + exposed.
  void Add(const Tail& behind, int index, const Grant& grant,
           const Transfer& transfer, const StageWay& way, int begin) {
    Tail tail{.next = index,
              .begin = begin,
              .num_stages = behind.num_stages + 1,
              .island = grant.island,
              .way = &way,
              .front_s = way.pass_s()};
    tail.period_s = std::max(behind.period_s, way.pass_s());
    tail.exposed_s = way.tail_s;
    if (behind.way != nullptr) {
      const double window_s =
          (way.pass_s() + transfer.both_s() + behind.front_s) / 2;
      tail.period_s = std::max(
          {tail.period_s, window_s, transfer.forward_s, transfer.backward_s});
      tail.exposed_s =
          std::max(tail.exposed_s,
                   behind.exposed_s - way.backward_s - transfer.backward_s);
    }
    tail.latency_s = behind.latency_s + way.pass_s() + transfer.both_s();
    const double rest_s = LeastPeriod(begin, grant.free);
    tail.bound_s = tail.latency_s + rest_s + tail.exposed_s +
                   (num_microbatches_ - 1) * std::max(tail.period_s, rest_s);
    if (tail.bound_s > limit_s_) return;
    if (begin == 0 && tail.num_stages < allowed_.min_stages) return;
    drafts_[begin].push_back({.tail = std::move(tail), .grant = &grant});
  }

  // Returns all GPUs that a stage may take.
  const std::vector<const Grant*>& GrantsOf(const FreeGpus& free) {
    const auto [at, is_new] = grants_of_.try_emplace(free);
    if (!is_new) return at->second;
    for (const Island& island : islands_) {
      if (!allowed_.IsUsable(island.id)) continue;
      int num_free = 0;
      for (const int node : island.nodes) num_free += free[node];
      for (int n = 1; n <= num_free; ++n) {
        if (num_free > kFewGpus && !IsHandy(n, num_free, island)) continue;
        at->second.push_back(&Take(n, island, free));
      }
    }
    return at->second;
  }

  static bool IsHandy(int n, int num_free, const Island& island) {
    const int of_node = island.spec.gpus_per_node;
    return n == num_free || n % of_node == 0 ||
           (n < of_node && of_node % n == 0) || (n & (n - 1)) == 0;
  }

  // Takes GPUs of as few nodes as possible, and leaves as many as possible
  // together.
  const Grant& Take(int n, const Island& island, const FreeGpus& free) {
    Grant grant{.island = island.id, .free = free};
    std::vector<std::pair<int, int>> parts;  // Node, GPUs.
    while (n > 0) {
      int best = -1;
      for (const int node : island.nodes) {
        const int here = grant.free[node];
        if (here == 0) continue;
        if (best < 0) {
          best = node;
          continue;
        }
        const int there = grant.free[best];
        const bool is_better =
            there >= n ? here >= n && here < there : here > there;
        if (is_better) best = node;
      }
      const int count = std::min<int>(n, grant.free[best]);
      const int used =
          request_.cluster->nodes[best].num_gpus - grant.free[best];
      for (int i = 0; i < count; ++i) grant.gpus.push_back({best, used + i});
      grant.free[best] = static_cast<int8_t>(grant.free[best] - count);
      n -= count;
    }
    grant.place_index =
        table_.PlaceIndex({island.id, absl::MakeConstSpan(grant.gpus)});
    grants_.push_back(std::make_unique<Grant>(std::move(grant)));
    return *grants_.back();
  }

  // Keeps the best whole pipelines of each kind.
  void KeepWhole() {
    Drafts& drafts = drafts_[0];
    absl::c_stable_sort(drafts, [](const Draft& a, const Draft& b) {
      return a.tail.bound_s < b.tail.bound_s;
    });
    std::map<std::vector<int>, int> of_kind;
    double last_s = 0;
    size_t num_kept = 0;
    for (Draft& draft : drafts) {
      if (num_kept == kMostOfMicrobatch) break;
      // Equally fast plans are likely the same.
      if (draft.tail.bound_s == last_s) continue;
      std::vector<int> kind = {draft.tail.island};
      size_t num_gpus = draft.grant->gpus.size();
      for (int t = draft.tail.next; tails_[t].way != nullptr;
           t = tails_[t].next) {
        kind.push_back(tails_[t].island);
        num_gpus += tails_[t].gpus.size();
      }
      if (rules_.accepts_gpus &&
          !rules_.accepts_gpus(static_cast<int>(num_gpus))) {
        continue;
      }
      if (++of_kind[kind] > kMostOfKind) continue;
      last_s = draft.tail.bound_s;
      draft.tail.gpus = draft.grant->gpus;
      whole_.emplace_back(draft.tail.bound_s, PlanOf(draft.tail));
      ++num_kept;
    }
  }

  PipelinePlan PlanOf(const Tail& first) const {
    PipelinePlan plan{.pipeline_microbatch_size = microbatch_size_};
    for (const Tail* tail = &first; tail->way != nullptr;
         tail = &tails_[tail->next]) {
      PlacedStage& stage = plan.stages.emplace_back();
      stage.plan = tail->way->plan;
      stage.plan.begin = cuts_[tail->begin];
      stage.plan.end = cuts_[tails_[tail->next].begin];
      stage.gpus = tail->gpus;
      stage.island = tail->island;
      stage.made_by = kMaker;
    }
    return plan;
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const std::vector<Island>& islands_;
  const IslandRules& allowed_;
  const double limit_s_;
  PlanObserver& observer_;
  StageEstimator estimator_;
  StageTuner tuner_;
  StageTable table_;
  std::vector<OperatorCut> cuts_;  // Also the ends of the model.
  int microbatch_size_ = 1;
  int num_microbatches_ = 1;
  std::vector<std::vector<double>> work_before_;  // [island][layer]
  std::deque<Tail> tails_;
  std::vector<Drafts> drafts_;  // By their beginning.
  std::vector<std::unique_ptr<Grant>> grants_;
  std::map<FreeGpus, std::vector<const Grant*>> grants_of_;
  std::vector<std::pair<double, PipelinePlan>> whole_;
};

}  // namespace

absl::StatusOr<std::vector<PipelinePlan>> WholePlans(
    const PlanRequest& request, const PipelineRules& rules,
    absl::Span<const Island> islands, double limit_s, PlanObserver& observer) {
  std::vector<Island> limited(islands.begin(), islands.end());
  TANGRAM_ASSIGN_OR_RETURN(const IslandRules allowed,
                           LimitIslands(request, rules, limited));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> sizes,
                           MicrobatchSizes(request));
  Composer composer(request, rules, limited, allowed, limit_s, observer);
  for (const std::vector<OperatorCut>& cuts : CutsFor(request.model, rules)) {
    for (const int size : sizes) {
      TANGRAM_RETURN_IF_ERROR(composer.Compose(size, cuts));
    }
  }
  return std::move(composer).Plans();
}

}  // namespace tangram
