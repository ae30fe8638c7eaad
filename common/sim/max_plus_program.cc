#include "common/sim/max_plus_program.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <type_traits>

#include "common/base/check.h"

namespace tangram {
namespace {

// Returns how often each time is read.
std::vector<int32_t> Reads(const MaxPlusProgram& program) {
  std::vector<int32_t> reads(program.num_inputs() + program.steps.size());
  for (const int32_t output : program.outputs) ++reads[output];
  for (size_t k = program.steps.size(); k-- > 0;) {
    if (reads[program.num_inputs() + k] == 0) continue;  // Not needed.
    const MaxPlusStep& step = program.steps[k];
    ++reads[step.a];
    if (step.b != step.a) ++reads[step.b];
  }
  return reads;
}

// The weight of time i in a fingerprint: a hash of i (splitmix64).
uint64_t WeightOf(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Returns the later time; of equal ones, the faster. Lowers `horizon` to the
// last k before the loser overtakes:
//   ⌊(winner.at − loser.at) / (loser.speed − winner.speed)⌋.
template <typename Rep>
inline MovingTime<Rep> Later(const MovingTime<Rep>& a, const MovingTime<Rep>& b,
                             int64_t& horizon) {
  const Rep ahead = a.at - b.at;
  const Rep faster = a.speed - b.speed;
  const bool is_a = ahead > 0 || (ahead == 0 && faster >= 0);
  const Rep loser_gains = is_a ? -faster : faster;
  if (loser_gains > 0) {
    const Rep periods = (is_a ? ahead : -ahead) / loser_gains;
    if (periods < horizon) horizon = static_cast<int64_t>(periods);
  }
  return is_a ? a : b;
}

// Times and speeds of this size leave room for the sums of one run in Rep.
template <typename Rep>
bool IsSmall(const Ticks& ticks) {
  if constexpr (std::is_same_v<Rep, Ticks>) return true;
  constexpr int64_t kLimit = int64_t{1} << 61;
  return ticks > -kLimit && ticks < kLimit;
}

}  // namespace

MaxPlusProgram Simplified(const MaxPlusProgram& program) {
  const std::vector<int32_t> reads = Reads(program);
  const int32_t n = program.num_inputs();
  MaxPlusProgram simple;
  std::vector<int32_t> moved(reads.size());
  for (int32_t i = 0; i < n; ++i) moved[i] = i;
  for (size_t k = 0; k < program.steps.size(); ++k) {
    if (reads[n + k] == 0) continue;
    const MaxPlusStep& step = program.steps[k];
    const bool is_sum = step.a == step.b;
    // The step that an addition follows, if it can take the duration.
    const int32_t taken = moved[step.a] - n;
    if (is_sum && taken >= 0 && reads[step.a] == 1) {
      simple.steps[taken].duration += step.duration;
      moved[n + k] = moved[step.a];
      continue;
    }
    moved[n + k] = n + static_cast<int32_t>(simple.steps.size());
    simple.steps.push_back({moved[step.a], moved[step.b], step.duration});
  }
  for (const int32_t output : program.outputs) {
    simple.outputs.push_back(moved[output]);
  }
  return simple;
}

MaxPlusProgram OnlyRead(const MaxPlusProgram& program,
                        std::vector<int32_t>& read) {
  const std::vector<int32_t> reads = Reads(program);
  const int32_t n = program.num_inputs();
  std::vector<int32_t> moved(reads.size());
  read.clear();
  for (int32_t i = 0; i < n; ++i) {
    if (reads[i] == (program.outputs[i] == i ? 1 : 0)) continue;
    moved[i] = static_cast<int32_t>(read.size());
    read.push_back(i);
  }
  const int32_t num_read = static_cast<int32_t>(read.size());
  MaxPlusProgram result;
  for (size_t k = 0; k < program.steps.size(); ++k) {
    if (reads[n + k] == 0) continue;
    const MaxPlusStep& step = program.steps[k];
    moved[n + k] = num_read + static_cast<int32_t>(result.steps.size());
    result.steps.push_back({moved[step.a], moved[step.b], step.duration});
  }
  for (const int32_t i : read) {
    result.outputs.push_back(moved[program.outputs[i]]);
  }
  return result;
}

MaxPlusProgram SortedByDepth(const MaxPlusProgram& program) {
  const int32_t n = program.num_inputs();
  std::vector<int32_t> depths(n + program.steps.size());
  int32_t max_depth = 0;
  for (size_t k = 0; k < program.steps.size(); ++k) {
    const MaxPlusStep& step = program.steps[k];
    depths[n + k] = 1 + std::max(depths[step.a], depths[step.b]);
    max_depth = std::max(max_depth, depths[n + k]);
  }
  // next[d]: the place of the next step of depth d.
  std::vector<int32_t> next(max_depth + 2);
  for (size_t i = n; i < depths.size(); ++i) ++next[depths[i] + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<int32_t> moved(depths.size());
  std::iota(moved.begin(), moved.begin() + n, 0);
  MaxPlusProgram sorted;
  sorted.steps.resize(program.steps.size());
  for (size_t k = 0; k < program.steps.size(); ++k) {
    const MaxPlusStep& step = program.steps[k];
    const int32_t place = next[depths[n + k]]++;
    moved[n + k] = n + place;
    sorted.steps[place] = {moved[step.a], moved[step.b], step.duration};
  }
  for (const int32_t output : program.outputs) {
    sorted.outputs.push_back(moved[output]);
  }
  return sorted;
}

template <typename Rep>
MaxPlusRunner<Rep>::MaxPlusRunner(const MaxPlusProgram& program,
                                  absl::Span<const Ticks> x)
    : program_(program),
      n_(x.size()),
      times_(n_ + program.steps.size()),
      next_x_(n_) {
  TANGRAM_CHECK(n_ == program.outputs.size());
  for (size_t i = 0; i < n_; ++i) weights_.push_back(WeightOf(i));
  std::vector<Ticks> lengths(times_.size());
  for (size_t k = 0; k < program.steps.size(); ++k) {
    const MaxPlusStep& step = program.steps[k];
    lengths[n_ + k] =
        std::max(lengths[step.a], lengths[step.b]) + step.duration;
    longest_ = std::max(longest_, lengths[n_ + k]);
  }
  fits_ = SetX(x) && IsSmall<Rep>(longest_);
}

template <typename Rep>
std::vector<Ticks> MaxPlusRunner<Rep>::X() const {
  std::vector<Ticks> x(n_);
  for (size_t i = 0; i < n_; ++i) x[i] = base_ + times_[i];
  return x;
}

template <typename Rep>
bool MaxPlusRunner<Rep>::SetX(absl::Span<const Ticks> x) {
  const Ticks base = std::is_same_v<Rep, Ticks> || x.empty() ? Ticks{0} : x[0];
  for (const Ticks& time : x) {
    if (!IsSmall<Rep>(time - base)) return false;
  }
  base_ = base;
  fingerprint_ = 0;
  for (size_t i = 0; i < n_; ++i) {
    times_[i] = static_cast<Rep>(x[i] - base);
    fingerprint_ += weights_[i] * absl::Int128Low64(x[i]);
  }
  return true;
}

template <typename Rep>
void MaxPlusRunner<Rep>::Advance() {
  fingerprint_ = 0;
  const uint64_t base = absl::Int128Low64(base_);
  for (size_t i = 0; i < n_; ++i) {
    const Rep time = next_x_[i];
    times_[i] = time;
    fits_ &= IsSmall<Rep>(time);
    fingerprint_ += weights_[i] * (base + static_cast<uint64_t>(time));
  }
  // A later base may make the times fit.
  if (!fits_) fits_ = SetX(X());
}

template <typename Rep>
void MaxPlusRunner<Rep>::Run() {
  Rep* const t = times_.data();
  Rep* result = t + n_;
  for (const MaxPlusStep& step : program_.steps) {
    const Rep a = t[step.a];
    const Rep b = t[step.b];
    *result++ = (a > b ? a : b) + step.duration;
  }
  for (size_t i = 0; i < n_; ++i) next_x_[i] = t[program_.outputs[i]];
  Advance();
}

template <typename Rep>
int64_t MaxPlusRunner<Rep>::RunMoving(std::vector<Ticks>& speeds) {
  moving_times_.resize(times_.size());
  MovingTime<Rep>* const t = moving_times_.data();
  int64_t horizon = kForever;
  for (size_t i = 0; i < n_; ++i) {
    if (!IsSmall<Rep>(speeds[i])) horizon = 0;
    t[i] = {times_[i], static_cast<Rep>(speeds[i])};
  }
  MovingTime<Rep>* result = t + n_;
  for (const MaxPlusStep& step : program_.steps) {
    *result = Later(t[step.a], t[step.b], horizon);
    result++->at += step.duration;
  }
  for (size_t i = 0; i < n_; ++i) {
    const MovingTime<Rep>& output = t[program_.outputs[i]];
    next_x_[i] = output.at;
    speeds[i] = output.speed;
  }
  Advance();
  return horizon;
}

template <typename Rep>
void MaxPlusRunner<Rep>::Move(absl::Span<const Ticks> speeds, int64_t times) {
  std::vector<Ticks> x = X();
  for (size_t i = 0; i < n_; ++i) x[i] += times * speeds[i];
  fits_ = SetX(x);
}

template class MaxPlusRunner<int64_t>;
template class MaxPlusRunner<Ticks>;

}  // namespace tangram
