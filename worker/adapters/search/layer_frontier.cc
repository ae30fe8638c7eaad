#include "worker/adapters/search/layer_frontier.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/check.h"
#include "common/base/infinity.h"

namespace tangram {
namespace {

using Label = LayerFrontier::Label;

// Orders labels by memory, then by time.
bool NeedsLess(const Label& a, const Label& b) {
  return std::tie(a.memory, a.seconds) < std::tie(b.memory, b.seconds);
}

// lead[a][b] = max_q {x(a, q) − x(b, q)}: the most by which ending in `a`
// rather than `b` can cost more in the next transition.
std::vector<double> LeadsOf(absl::Span<const double> transition_s,
                            int num_choices) {
  std::vector<double> lead_s(transition_s.size());
  for (int a = 0; a < num_choices; ++a) {
    for (int b = 0; b < num_choices; ++b) {
      double most = 0;
      for (int q = 0; q < num_choices; ++q) {
        most = std::max(most, transition_s[a * num_choices + q] -
                                  transition_s[b * num_choices + q]);
      }
      lead_s[a * num_choices + b] = most;
    }
  }
  return lead_s;
}

}  // namespace

LayerFrontier::LayerFrontier(int num_choices, std::vector<double> transition_s)
    : num_choices_(num_choices),
      transition_s_(transition_s.empty()
                        ? std::vector<double>(num_choices * num_choices, 0.0)
                        : std::move(transition_s)),
      lead_s_(LeadsOf(transition_s_, num_choices)) {
  TANGRAM_CHECK(num_choices <= 256);
}

// Appends to `grown_` the labels that end in `choice`. Labels are visited by
// ascending memory, so only those faster than all before are kept.
void LayerFrontier::Extend(uint8_t choice, const LayerChoice& cost,
                           int64_t memory_limit) {
  const std::vector<Label>& before = labels_.back();
  const size_t first = grown_.size();
  double fastest_s = kInfinity;
  for (size_t i = 0; i < before.size(); ++i) {
    const int64_t memory = before[i].memory + cost.memory;
    if (memory > memory_limit) break;
    const double seconds =
        before[i].seconds +
        transition_s_[before[i].choice * num_choices_ + choice];
    if (seconds >= fastest_s) continue;
    fastest_s = seconds;
    if (grown_.size() > first && grown_.back().memory == memory) {
      grown_.pop_back();
    }
    grown_.push_back({.memory = memory,
                      .seconds = seconds + cost.seconds,
                      .parent = static_cast<int32_t>(i),
                      .choice = choice});
  }
}

// Merges the choices' sorted runs of `grown_` pairwise into one, sorted by
// memory.
void LayerFrontier::MergeByMemory() {
  while (ends_.size() > 1) {
    scratch_.resize(grown_.size());
    std::vector<int> merged_ends;
    int begin = 0;
    for (size_t i = 0; i < ends_.size(); i += 2) {
      const int middle = ends_[i];
      const int end = i + 1 < ends_.size() ? ends_[i + 1] : middle;
      std::merge(grown_.begin() + begin, grown_.begin() + middle,
                 grown_.begin() + middle, grown_.begin() + end,
                 scratch_.begin() + begin, NeedsLess);
      merged_ends.push_back(end);
      begin = end;
    }
    grown_.swap(scratch_);
    ends_ = std::move(merged_ends);
  }
}

// Keeps a label unless one with at most as much memory is at least as fast
// after every next transition. `fastest_s` holds the fastest kept time by
// choice.
void LayerFrontier::KeepUndominated(std::vector<Label>& kept) {
  std::vector<double> fastest_s(num_choices_, kInfinity);
  int32_t fastest = 0;
  for (const Label& label : grown_) {
    bool dominated = false;
    for (int s = 0; s < num_choices_ && !dominated; ++s) {
      dominated = fastest_s[s] + lead_s_[s * num_choices_ + label.choice] <=
                  label.seconds;
    }
    if (dominated) continue;
    fastest_s[label.choice] = label.seconds;
    const int32_t index = static_cast<int32_t>(kept.size());
    if (index == 0 || label.seconds < kept[fastest].seconds) fastest = index;
    kept.push_back(label);
    kept.back().fastest = fastest;
  }
}

// One step of the recurrence: extends every label by every choice, then merges
// and prunes. The first layer has no transition.
void LayerFrontier::Append(absl::Span<const LayerChoice> choices,
                           int64_t memory_limit) {
  TANGRAM_CHECK(static_cast<int>(choices.size()) == num_choices_);
  grown_.clear();
  ends_.clear();
  for (int s = 0; s < num_choices_; ++s) {
    if (choices[s].seconds == kInfinity) continue;
    const uint8_t choice = static_cast<uint8_t>(s);
    if (!labels_.empty()) {
      Extend(choice, choices[s], memory_limit);
    } else if (choices[s].memory <= memory_limit) {
      grown_.push_back({.memory = choices[s].memory,
                        .seconds = choices[s].seconds,
                        .choice = choice});
    }
    ends_.push_back(static_cast<int>(grown_.size()));
  }
  MergeByMemory();
  KeepUndominated(labels_.emplace_back());
}

// Labels are sorted by memory, and each knows the fastest up to itself.
std::optional<int> LayerFrontier::FastestWithin(int num_layers,
                                                int64_t budget) const {
  const absl::Span<const Label> all = labels(num_layers);
  const auto beyond = std::upper_bound(
      all.begin(), all.end(), budget,
      [](int64_t limit, const Label& label) { return limit < label.memory; });
  if (beyond == all.begin()) return std::nullopt;
  return (beyond - 1)->fastest;
}

// Follows the parents from the last layer to the first.
std::vector<uint8_t> LayerFrontier::ChoicesOf(int num_layers, int label) const {
  std::vector<uint8_t> choices(num_layers);
  for (int i = num_layers; i > 0; --i) {
    const Label& last = labels_[i - 1][label];
    choices[i - 1] = last.choice;
    label = last.parent;
  }
  return choices;
}

}  // namespace tangram
