#include "coordinator/planners/rivals/sailor/stage_chains.h"

#include <algorithm>

#include "common/base/infinity.h"
namespace tangram::sailor {
namespace {

// More GPUs pay if they divide the time by this.
constexpr double kLeastSpeedup = 1.5;

}  // namespace

StageChains::StageChains(const Input& input, const Rules& rules,
                         const PathTable& paths, int samples, int most_stages)
    : input_(input), rules_(rules), samples_(samples) {
  int num_present = 0;
  for (int type = 0; type < static_cast<int>(input.types.size()); ++type) {
    const bool present =
        std::any_of(input.zones.begin(), input.zones.end(),
                    [&](const Zone& zone) { return zone.gpus[type] > 0; });
    has_gpus_.push_back(present);
    num_present += present ? 1 : 0;
    auto& degrees = profiles_.emplace_back();
    for (const int tp : paths.Degrees(type)) {
      const auto found = input.profiles.find({type, tp, samples});
      if (found == input.profiles.end()) continue;
      degrees.emplace_back(tp, &found->second);
    }
  }
  has_one_type_ = num_present == 1;
  first_.resize(most_stages + 1);
  for (int stages = 1; stages <= most_stages; ++stages) Build(stages);
}

const Profile* StageChains::Find(int type, int tp) const {
  for (const auto& [degree, profile] : profiles_[type]) {
    if (degree == tp) return profile;
  }
  return nullptr;
}

bool StageChains::Fits(int type, int tp, const Split& split, int stage) const {
  return StageBytes(*Find(type, tp), split, stage) <=
         input_.types[type].memory_bytes;
}

TypeFigures StageChains::FiguresOf(int type, int tp,
                                   std::pair<int, int> layers) const {
  const Profile& profile = *Find(type, tp);
  TypeFigures figures{.tp = tp};
  const auto [begin, size] = layers;
  for (int i = begin; i < begin + size; ++i) {
    figures.pass_s += profile.layers[i].pass_s;
    figures.update_s += profile.layers[i].update_s;
  }
  if (rules_.forgets_update) {
    double slowest = 0;
    for (const LayerFigures& layer : profile.layers) {
      slowest = std::max(slowest, layer.update_s);
    }
    figures.update_s = size * slowest;
  }
  return figures;
}

int StageChains::DegreeThatPays(int type, std::pair<int, int> layers) const {
  int best = 0;
  double best_s = kInfinity;
  for (const auto& [tp, profile] : profiles_[type]) {
    const double time_s = FiguresOf(type, tp, layers).pass_s;
    if (best > 0 && best_s / time_s < kLeastSpeedup) break;
    best = tp;
    best_s = time_s;
  }
  return best;
}

// All types alike, and each type for itself.
std::vector<std::vector<bool>> StageChains::Choices() const {
  const size_t types = input_.types.size();
  std::vector<std::vector<bool>> choices{std::vector<bool>(types)};
  if (rules_.first_type_has_least_tp) {
    choices[0][0] = !has_one_type_;
    return choices;
  }
  choices.emplace_back(types, true);
  for (size_t type = 0; type < types; ++type) {
    choices.emplace_back(types)[type] = true;
  }
  return choices;
}

std::vector<int> StageChains::DegreesOf(int type, bool least,
                                        const Split& split) const {
  std::vector<int> degrees;
  for (int stage = 0; stage < static_cast<int>(split.size()); ++stage) {
    int fitting = 0;
    for (const auto& [tp, profile] : profiles_[type]) {
      if (!Fits(type, tp, split, stage)) continue;
      fitting = tp;
      break;
    }
    if (fitting == 0) return {};
    const int paying = least ? 0 : DegreeThatPays(type, split[stage]);
    const bool higher = paying > fitting && (rules_.trusts_tp_memory ||
                                             Fits(type, paying, split, stage));
    degrees.push_back(higher ? paying : fitting);
  }
  return degrees;
}

void StageChains::Build(int num_stages) {
  const Split split =
      SplitEvenly(static_cast<int>(input_.gradient_bytes.size()), num_stages);
  for (const std::vector<bool>& least : Choices()) {
    std::vector<std::vector<int>> degrees;
    for (int type = 0; type < static_cast<int>(least.size()); ++type) {
      degrees.push_back(has_gpus_[type] ? DegreesOf(type, least[type], split)
                                        : std::vector<int>());
    }
    if (std::all_of(degrees.begin(), degrees.end(),
                    [](const auto& of_type) { return of_type.empty(); })) {
      return;
    }
    int next = -1;
    for (int i = num_stages - 1; i >= 0; --i) {
      next = Join(split, degrees, i, next);
    }
    std::vector<int>& first = first_[num_stages];
    if (std::find(first.begin(), first.end(), next) == first.end()) {
      first.push_back(next);
    }
  }
}

int StageChains::Join(const Split& split,
                      const std::vector<std::vector<int>>& degrees, int index,
                      int next) {
  const auto [begin, size] = split[index];
  const auto [sender, senders] = split[rules_.sends_first_boundary ? 0 : index];
  ChainStage stage{
      .first_layer = begin,
      .num_layers = size,
      .num_stages = static_cast<int>(split.size()) - index,
      .next = next,
      .boundary_bytes = input_.boundary_bytes[sender + senders - 1] * samples_,
      .types = {},
      .least_tp = {}};
  std::vector<int> here;
  for (const auto& of_type : degrees) {
    here.push_back(of_type.empty() ? 0 : of_type[index]);
  }
  const auto [at, is_new] = known_.try_emplace(
      {begin, size, next, stage.boundary_bytes, here}, num_chain_stages());
  if (!is_new) return at->second;
  for (int layer = begin; layer < begin + size; ++layer) {
    stage.gradient_bytes += input_.gradient_bytes[layer];
  }
  double fastest_s = kInfinity;
  for (int type = 0; type < static_cast<int>(here.size()); ++type) {
    const int tp = here[type];
    stage.types.push_back(tp == 0 ? TypeFigures()
                                  : FiguresOf(type, tp, split[index]));
    stage.least_tp.push_back(
        next < 0 ? tp : std::min(tp, stages_[next].least_tp[type]));
    if (tp > 0) fastest_s = std::min(fastest_s, stage.types.back().pass_s);
  }
  stage.passes_s = fastest_s + (next < 0 ? 0 : stages_[next].passes_s);
  stage.slowest_s =
      next < 0 ? fastest_s : std::max(fastest_s, stages_[next].slowest_s);
  stage.state = at->second;
  if (rules_.shares_states_by_counts) {
    stage.state = states_.try_emplace({stage.num_stages, begin}, at->second)
                      .first->second;
  }
  stages_.push_back(std::move(stage));
  return at->second;
}

}  // namespace tangram::sailor
