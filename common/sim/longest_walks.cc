#include "common/sim/longest_walks.h"

#include <algorithm>
#include <utility>

namespace tangram {

template <typename Rep>
LongestWalks<Rep>::LongestWalks(const DelayedProgram& program, StopPoll& poll)
    : program_(program),
      poll_(poll),
      n_(program.num_inputs()),
      is_removed_(n_),
      times_(n_ + program.steps.size()),
      origins_(n_ + program.steps.size()),
      runs_(n_) {
  std::vector<Ticks> longest(times_.size());
  for (size_t k = 0; k < program.steps.size(); ++k) {
    const MaxPlusStep& step = program.steps[k];
    longest[n_ + k] =
        std::max(longest[step.a], longest[step.b]) + step.duration;
    is_too_wide_ |= longest[n_ + k] > kLimit;
  }
}

template <typename Rep>
void LongestWalks<Rep>::Reset(const Cycle& pace, int64_t modulus) {
  modulus_ = modulus;
  pace_ = modulus == 1 ? WholePace(pace) : pace.ticks;
  labels_.assign(modulus * n_, Label());
  is_new_.assign(modulus, false);
}

template <typename Rep>
void LongestWalks<Rep>::Set(Label& label, Ticks gain, int64_t runs) {
  is_too_wide_ |= gain > kLimit || gain < -kLimit;
  label.gain = static_cast<Rep>(gain);
  label.runs = runs;
}

template <typename Rep>
void LongestWalks<Rep>::Add(int32_t input, int64_t runs, Ticks gain) {
  if (is_removed_[input]) return;
  const int64_t residue = runs % modulus_;
  Label& label = labels_[residue * n_ + input];
  if (gain < -kLimit) is_too_wide_ = true;
  if (gain <= label.gain) return;
  label = Label();
  Set(label, gain, runs);
  is_new_[residue] = true;
}

template <typename Rep>
typename LongestWalks<Rep>::Walk LongestWalks<Rep>::LongestTo(
    int32_t input, int64_t runs) const {
  const Label& label = labels_[runs % modulus_ * n_ + input];
  return {.gain = label.gain, .runs = label.runs};
}

template <typename Rep>
typename LongestWalks<Rep>::Outcome LongestWalks<Rep>::Improve() {
  while (std::find(is_new_.begin(), is_new_.end(), true) != is_new_.end()) {
    for (int64_t residue = 0; residue < modulus_; ++residue) {
      if (!is_new_[residue]) continue;
      is_new_[residue] = false;
      Run(residue);
      if (poll_.stopped()) return Outcome::kStopped;
      TakeLonger(residue);
    }
    const Outcome outcome = FollowChoices();
    if (outcome != Outcome::kDone) return outcome;
  }
  if (modulus_ == 1) AddLoops();
  return Outcome::kDone;
}

template <typename Rep>
void LongestWalks<Rep>::Run(int64_t residue) {
  Rep* const t = times_.data();
  int32_t* const from = origins_.data();
  const Label* const labels = &labels_[residue * n_];
  for (int32_t i = 0; i < n_; ++i) {
    t[i] = labels[i].gain;
    from[i] = i;
    runs_[i] = labels[i].runs;
  }
  Rep* time = t + n_;
  int32_t* origin = from + n_;
  for (const MaxPlusStep& step : program_.steps) {
    const Rep a = t[step.a];
    const Rep b = t[step.b];
    const int32_t from_a = from[step.a];
    const int32_t from_b = from[step.b];
    *time++ = (a >= b ? a : b) + static_cast<Rep>(step.duration);
    *origin++ = a >= b ? from_a : from_b;
  }
  ++program_runs_;
  poll_.After(static_cast<int64_t>(times_.size()));
}

template <typename Rep>
void LongestWalks<Rep>::TakeLonger(int64_t residue) {
  const Ticks start = PaceTicks(residue);
  int64_t delay = 0;
  Rep pace = 0;  // During the delay.
  int64_t next = 0;
  for (int32_t i = 0; i < n_; ++i) {
    const int32_t output = program_.outputs[i];
    if (is_removed_[i] || IsNever(times_[output])) continue;
    if (program_.delay(i) != delay) {
      delay = program_.delay(i);
      const Ticks ticks = PaceTicks(residue + delay) - start;
      is_too_wide_ |= ticks > kLimit;
      pace = static_cast<Rep>(ticks);
      next = (residue + delay) % modulus_;
    }
    Label& label = labels_[next * n_ + i];
    const Rep gain = times_[output] - pace;
    if (gain <= label.gain) continue;
    const int32_t from = origins_[output];
    label.last = gain - times_[from];
    label.parent = static_cast<int32_t>(residue) * n_ + from;
    Set(label, gain, runs_[from] + delay);
    is_new_[next] = true;
  }
}

template <typename Rep>
typename LongestWalks<Rep>::Outcome LongestWalks<Rep>::FollowChoices() {
  states_.assign(labels_.size(), State::kUnknown);
  slowest_ = Cycle();
  for (size_t start = 0; start < labels_.size(); ++start) {
    if (states_[start] == State::kKnown) continue;
    Follow(static_cast<int32_t>(start));
  }
  if (is_too_wide_) return Outcome::kTooWide;
  return slowest_.inputs.empty() ? Outcome::kDone : Outcome::kTooSlow;
}

template <typename Rep>
void LongestWalks<Rep>::Follow(int32_t label) {
  path_.clear();
  int32_t at = label;
  for (; states_[at] == State::kUnknown && labels_[at].parent >= 0;
       at = labels_[at].parent) {
    states_[at] = State::kOnPath;
    path_.push_back(at);
  }
  if (states_[at] == State::kOnPath) {
    const auto begin = std::find(path_.begin(), path_.end(), at);
    BreakCycle(absl::MakeConstSpan(path_).subspan(begin - path_.begin()));
  }
  states_[at] = State::kKnown;
  for (size_t k = path_.size(); k-- > 0;) {
    states_[path_[k]] = State::kKnown;
    Label& here = labels_[path_[k]];
    if (here.parent < 0) continue;
    const Label& parent = labels_[here.parent];
    const Rep gain = parent.gain + here.last;
    if (gain == here.gain) continue;
    Set(here, gain, parent.runs + program_.delay(path_[k] % n_));
    is_new_[path_[k] / n_] = true;
  }
}

// Splits the cycle where it visits an input again, and keeps the slowest part.
// At a modulus of 1 it has one part.
template <typename Rep>
void LongestWalks<Rep>::BreakCycle(absl::Span<const int32_t> labels) {
  std::vector<int32_t> open;  // Labels without those of earlier parts.
  const auto close = [&](size_t begin) {
    Cycle part = {.ticks = 0, .runs = 0};
    for (size_t k = begin; k < open.size(); ++k) {
      const Label& label = labels_[open[k]];
      const int64_t residue = label.parent / n_;
      const int64_t delay = program_.delay(open[k] % n_);
      part.inputs.push_back(open[k] % n_);
      part.runs += delay;
      part.ticks +=
          label.last + PaceTicks(residue + delay) - PaceTicks(residue);
    }
    open.resize(begin);
    if (part.IsSlowerThan(slowest_)) slowest_ = part;
    cycles_.push_back(std::move(part));
  };
  for (const int32_t label : labels) {
    const auto again = std::find_if(
        open.begin(), open.end(),
        [&](int32_t earlier) { return earlier % n_ == label % n_; });
    if (again != open.end()) close(again - open.begin());
    open.push_back(label);
  }
  close(0);
  labels_[labels.front()].parent = kForgotten;
}

// Adds the cycles of the longest ways to each input that the last run found,
// even if the input's longest walk is another. If devices are nearly equal,
// many cycles are nearly as slow as the pace.
template <typename Rep>
void LongestWalks<Rep>::AddLoops() {
  if (n_ == 0) return;
  const auto has_way = [&](int32_t i) {
    return !is_removed_[i] && !IsNever(times_[program_.outputs[i]]);
  };
  std::vector<int32_t> seen_from(n_, -1);
  for (int32_t start = 0; start < n_; ++start) {
    int32_t at = start;
    while (seen_from[at] < 0 && has_way(at)) {
      seen_from[at] = start;
      at = origins_[program_.outputs[at]];
    }
    if (seen_from[at] != start || !has_way(at)) continue;
    Cycle cycle = {.ticks = 0, .runs = 0};
    const int32_t first = at;
    do {
      const int32_t from = origins_[program_.outputs[at]];
      cycle.inputs.push_back(at);
      cycle.runs += program_.delay(at);
      cycle.ticks += times_[program_.outputs[at]] - times_[from];
      at = from;
    } while (at != first);
    cycles_.push_back(std::move(cycle));
  }
}

template <typename Rep>
std::vector<Cycle> LongestWalks<Rep>::TakeCycles() {
  return std::exchange(cycles_, {});
}

template <typename Rep>
void LongestWalks<Rep>::SetPace(const Cycle& pace) {
  const Ticks slower = WholePace(pace) - pace_;
  pace_ += slower;
  for (Label& label : labels_) {
    if (label.runs < 0) continue;
    Set(label, label.gain - slower * label.runs, label.runs);
  }
  for (Label& label : labels_) {
    if (label.parent >= 0) label.last = label.gain - labels_[label.parent].gain;
  }
  is_new_.assign(modulus_, true);
}

template <typename Rep>
void LongestWalks<Rep>::StartFrom(absl::Span<const int32_t> inputs) {
  std::vector<bool> stays(n_);
  for (const int32_t i : inputs) stays[i] = true;
  for (size_t k = 0; k < labels_.size(); ++k) {
    if (!stays[k % n_]) labels_[k] = Label();
    labels_[k].parent = kStart;
  }
  is_new_.assign(modulus_, true);
}

template <typename Rep>
void LongestWalks<Rep>::Remove(absl::Span<const int32_t> inputs) {
  for (const int32_t i : inputs) is_removed_[i] = true;
  states_.assign(labels_.size(), State::kUnknown);
  for (size_t start = 0; start < labels_.size(); ++start) {
    path_.clear();
    int32_t at = static_cast<int32_t>(start);
    for (; states_[at] == State::kUnknown && labels_[at].parent >= 0 &&
           !is_removed_[at % n_];
         at = labels_[at].parent) {
      path_.push_back(at);
    }
    // A walk with a forgotten parent may have visited any input.
    if (is_removed_[at % n_] || labels_[at].parent == kForgotten) {
      labels_[at] = Label();
    }
    states_[at] = State::kKnown;
    const bool stays = labels_[at].runs >= 0;
    for (const int32_t label : path_) {
      states_[label] = State::kKnown;
      if (!stays) labels_[label] = Label();
    }
  }
}

template class LongestWalks<int64_t>;
template class LongestWalks<Ticks>;

}  // namespace tangram
