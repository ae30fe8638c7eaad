#include "coordinator/planners/tangram/slice_times.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "common/base/fingerprint.h"
#include "common/cost/stage_cost.h"
#include "common/sim/tied_matrix.h"
#include "coordinator/planners/tangram/place_plan.h"

namespace tangram {
namespace {

// The most devices that SliceTimes keeps. A device may hold thousands of
// measurements, and an island mostly has one.
constexpr size_t kMostDevices = 64;

size_t HashOf(std::initializer_list<int> numbers) {
  uint64_t hash = 0;
  for (const int number : numbers) {
    hash = (hash ^ static_cast<uint32_t>(number)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

// Two small numbers as one word.
uint64_t Both(int a, int b) {
  return uint64_t{static_cast<uint32_t>(a)} << 32 | static_cast<uint32_t>(b);
}

void AddPlan(const SlicePlan& plan, StageTimesKey& key) {
  const auto add = [&key](auto... numbers) {
    (key.Add(static_cast<uint64_t>(numbers)), ...);
  };
  const auto add_fractions = [&key](auto... fractions) {
    (key.Add(std::bit_cast<uint64_t>(fractions)), ...);
  };
  add(plan.stages.size());
  for (const SliceStage& stage : plan.stages) {
    const auto& [begin, end, parallelism, recompute, offload] = stage.plan;
    const auto& [tp, cp, dp, ep, fsep, zero, zero_degree, sequence, tp_y] =
        parallelism;
    add(Both(begin.layer, begin.op), Both(end.layer, end.op), Both(tp, cp),
        Both(dp, ep), Both(fsep, zero), Both(zero_degree, sequence), tp_y,
        recompute.size());
    for (const RecomputeRun& run : recompute) {
      add(Both(run.num_layers, run.mask));
    }
    const auto& [weights, gradients, optimizer, activations] = offload;
    add_fractions(weights, gradients, optimizer, activations);
  }
}

}  // namespace

size_t SliceTimes::Hash::operator()(const Boundary& boundary) const {
  return HashOf({boundary.microbatch, boundary.atom, boundary.from_island,
                 boundary.from_gpu, boundary.from_count, boundary.to_island,
                 boundary.to_count});
}

SliceTimes::SliceTimes(const SearchSpace& space, const PairStore& store,
                       const PlanRequest& request, SharedStageTimes* shared)
    : space_(space),
      store_(store),
      request_(request),
      shared_(shared),
      times_(space.microbatch_sizes.size() * space.slices.num_classes() *
             space.num_islands()) {
  const auto layer_at = [this](int atom) -> const LayerSpec& {
    return request_.model.layers[space_.first_layer[atom]];
  };
  for (int atom = 0; atom < space.num_atoms(); ++atom) {
    int first = 0;
    while (!(layer_at(first) == layer_at(atom))) ++first;
    alike_.push_back(first);
  }
  if (shared_ == nullptr) return;
  training_ = FingerprintOf(request.training);
  for (const Island& island : space.islands) islands_.push_back(NameOf(island));
}

// Islands of the same groups, node by node, are the same in every allocation.
uint64_t SliceTimes::NameOf(const Island& island) const {
  Fingerprinter nodes;
  for (const int n : island.nodes) {
    const Node& node = request_.cluster->nodes[n];
    nodes.Add(request_.cluster->groups[node.group]).Add(node.num_gpus);
  }
  return nodes.Finish();
}

SharedStageTimes::Key SliceTimes::KeyOf(const PairId& pair, int island) const {
  const AtomRange atoms = space_.slices.MembersOf(pair.slice_class).front();
  StageTimesKey key;
  const auto add = [&key](auto... numbers) {
    (key.Add(static_cast<uint64_t>(numbers)), ...);
  };
  add(training_, islands_[island], space_.microbatch_sizes[pair.microbatch],
      space_.first_layer[atoms.begin], space_.first_layer[atoms.end]);
  const SharedAnswer::Name name = store_.NameOf(pair);
  const bool has_name = name != SharedAnswer::Name();
  add(has_name);
  if (has_name) {
    add(name[0], name[1]);
    return key.key();
  }
  for (const SlicePlan& plan : store_.PlansOf(pair)) AddPlan(plan, key);
  return key.key();
}

const TimesOfPlans& SliceTimes::TimesOf(const PairId& pair, int island) {
  island = space_.first_alike[island];
  const size_t slice =
      static_cast<size_t>(pair.microbatch) * space_.slices.num_classes() +
      pair.slice_class;
  const TimesOfPlans*& known = times_[slice * space_.num_islands() + island];
  const size_t num_plans = store_.PlansOf(pair).size();
  if (known != nullptr && known->size() == num_plans) return *known;
  if (shared_ != nullptr) {
    const SharedStageTimes::Key key = KeyOf(pair, island);
    known = shared_->Find(key);
    if (known == nullptr) {
      not_kept_ = TimeAll(pair, island);
      known = shared_->Insert(key, not_kept_);
    }
    if (known != nullptr) return *known;
  } else {
    not_kept_ = TimeAll(pair, island);
  }
  size_t num_stages = 0;
  for (const std::vector<StageTimes>& plan : not_kept_) {
    num_stages += plan.size();
  }
  if (num_timed_ + num_stages > kMaxTimedStages) return not_kept_;
  num_timed_ += num_stages;
  known = &own_.emplace_back(std::move(not_kept_));
  return *known;
}

TimesOfPlans SliceTimes::TimeAll(const PairId& pair, int island) {
  TimesOfPlans times;
  for (const SlicePlan& plan : store_.PlansOf(pair)) {
    times.push_back(Time(pair, island, plan));
  }
  return times;
}

std::vector<StageTimes> SliceTimes::Time(const PairId& pair, int island,
                                         const SlicePlan& plan) {
  const int size = space_.microbatch_sizes[pair.microbatch];
  const AtomRange atoms = space_.slices.MembersOf(pair.slice_class).front();
  const int first_layer = space_.first_layer[atoms.begin];
  std::vector<StageTimes> times;
  Range range{.island = island};
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan& stage = plan.stages[s].plan;
    range.count = stage.parallelism.num_gpus();
    const Placement& placed = PlacedOn(range);
    const StageCost cost = EstimateStage(
        space_.context.slices[pair.slice_class].runs, stage,
        EnvironmentOn(*placed.device, placed.wiring, request_.training, size));
    StageTimes& time =
        times.emplace_back(StageTimes{.forward_s = cost.forward_s,
                                      .backward_s = cost.backward_s,
                                      .sync_s = cost.sync_s,
                                      .optimizer_s = cost.optimizer_s});
    Range next{.island = island, .first = range.first + range.count};
    if (s + 1 < plan.stages.size()) {
      next.count = plan.stages[s + 1].plan.parallelism.num_gpus();
      const LayerSpec& layer =
          request_.model.layers[first_layer + stage.end.layer];
      SetTransfers(BoundaryBytes(layer, stage.end.op, size, request_.training),
                   range, next, time);
    }
    range = next;
  }
  return times;
}

void SliceTimes::SetTransfers(const Boundary& at, StageTimes& last) {
  Boundary boundary = at;
  boundary.atom = FirstAlike(at.atom);
  const auto [it, is_new] = boundaries_.try_emplace(boundary);
  auto& [forward_s, backward_s] = it->second;
  if (is_new) {
    StageTimes times;
    const LayerSpec& layer =
        request_.model.layers[space_.first_layer[boundary.atom]];
    SetTransfers(
        BoundaryBytes(layer, 0, space_.microbatch_sizes[boundary.microbatch],
                      request_.training),
        {boundary.from_island, boundary.from_gpu, boundary.from_count},
        {boundary.to_island, 0, boundary.to_count}, times);
    forward_s = times.send_forward_s;
    backward_s = times.send_backward_s;
  }
  last.send_forward_s = forward_s;
  last.send_backward_s = backward_s;
}

double SliceTimes::ExchangeSeconds(const EndStage& first,
                                   const EndStage& last) {
  if (!HasTiedMatrix(request_.model)) return 0;
  const auto [it, is_new] = exchanges_.try_emplace({first, last});
  if (is_new) {
    const auto gpus_of = [this](const EndStage& stage) {
      return GpusOf({stage.island, stage.first_gpu, stage.num_gpus});
    };
    it->second = TiedMatrixSeconds(
        request_.model, request_.training,
        std::max(first.replicas, last.replicas),
        PathBetween(request_.cluster, gpus_of(first), gpus_of(last)));
  }
  return it->second;
}

void SliceTimes::SetTransfers(double bytes, const Range& from, const Range& to,
                              StageTimes& stage) {
  const auto [it, is_new] = paths_.try_emplace({from, to});
  auto& [forth, back] = it->second;
  if (is_new) {
    const std::vector<GpuId> here = GpusOf(from);
    const std::vector<GpuId> next = GpusOf(to);
    forth = PathBetween(request_.cluster, here, next);
    back = PathBetween(request_.cluster, next, here);
  }
  stage.send_forward_s = TransferSeconds(bytes, forth);
  stage.send_backward_s = TransferSeconds(bytes, back);
}

const SliceTimes::Placement& SliceTimes::PlacedOn(const Range& range) {
  const auto known = placed_.find(range);
  if (known != placed_.end()) return known->second;
  const std::vector<GpuId> gpus = GpusOf(range);
  DeviceSpec device = WeakestDevice(request_.cluster, gpus);
  auto equal = std::find(devices_.begin(), devices_.end(), device);
  if (equal == devices_.end()) {
    if (devices_.size() == kMostDevices) {
      placed_.clear();
      devices_.clear();
    }
    devices_.push_back(std::move(device));
    equal = std::prev(devices_.end());
  }
  Placement placed{.device = &*equal,
                   .wiring = WiringOfGpus(request_.cluster, gpus)};
  return placed_.emplace(range, std::move(placed)).first->second;
}

std::vector<GpuId> SliceTimes::GpusOf(const Range& range) const {
  return GpusOfIsland(space_.islands[range.island], range.first, range.count);
}

}  // namespace tangram
