#include "common/sim/share_batch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "common/base/infinity.h"

namespace tangram {
namespace {

// Returns the most microbatches that end by `end_s`, at most `most`.
int64_t MicrobatchesBy(const PipelinePace& pace, double end_s, int64_t most) {
  if (!(end_s > pace.fill_s)) return 0;
  const double fit = (end_s - pace.fill_s) / pace.microbatch_s;
  // The end of the last one decides, not a rounded division.
  int64_t number = fit >= static_cast<double>(most)
                       ? most
                       : std::min(most, static_cast<int64_t>(fit) + 1);
  while (number > 0 && EndSeconds(pace, number) > end_s) --number;
  return number;
}

// Microbatches that add up to the samples, all of which end by some time.
class Sums {
 public:
  // `num_units` and `sizes` in the same unit.
  Sums(absl::Span<const SamplePace> pipelines, std::vector<int64_t> sizes,
       int64_t num_units)
      : pipelines_(pipelines),
        sizes_(std::move(sizes)),
        num_units_(num_units) {}

  // Returns whether the samples can be shared so that all end by `end_s`.
  //
  // taken_[r][n] is the least number of microbatches of pipeline r with which
  // the pipelines up to r take n units, and -1 if they cannot.
  bool Reach(double end_s) {
    taken_.assign(pipelines_.size(), {});
    for (size_t r = 0; r < pipelines_.size(); ++r) {
      const int64_t size = sizes_[r];
      const int64_t most =
          MicrobatchesBy(pipelines_[r].pace, end_s, num_units_ / size);
      std::vector<int64_t>& taken = taken_[r];
      taken.assign(num_units_ + 1, -1);
      for (int64_t n = 0; n <= num_units_; ++n) {
        const bool before = r == 0 ? n == 0 : taken_[r - 1][n] >= 0;
        if (before) {
          taken[n] = 0;
        } else if (n >= size && taken[n - size] >= 0 &&
                   taken[n - size] < most) {
          taken[n] = taken[n - size] + 1;
        }
      }
    }
    return taken_.back()[num_units_] >= 0;
  }

  // Returns the shares of the last Reach, which was true.
  std::vector<int64_t> Shares() const {
    std::vector<int64_t> shares(pipelines_.size());
    int64_t left = num_units_;
    for (size_t r = pipelines_.size(); r-- > 0;) {
      shares[r] = taken_[r][left];
      left -= shares[r] * sizes_[r];
    }
    return shares;
  }

 private:
  absl::Span<const SamplePace> pipelines_;
  const std::vector<int64_t> sizes_;
  const int64_t num_units_;
  std::vector<std::vector<int64_t>> taken_;
};

}  // namespace

// Adds pipelines in order of fill while they lower the level
//   L = (B + Σ fill/microbatch) / Σ 1/microbatch.
double WaterLevelSeconds(absl::Span<const PipelinePace> pipelines,
                         int64_t num_microbatches) {
  std::vector<PipelinePace> by_fill(pipelines.begin(), pipelines.end());
  std::sort(by_fill.begin(), by_fill.end(),
            [](const PipelinePace& a, const PipelinePace& b) {
              return a.fill_s < b.fill_s;
            });
  double level_s = 0;
  double weighted_fill = static_cast<double>(num_microbatches);
  double rate_per_s = 0;
  for (const PipelinePace& pace : by_fill) {
    // A pipeline that is still filling when the others are done adds nothing.
    if (rate_per_s > 0 && pace.fill_s >= level_s) break;
    weighted_fill += pace.fill_s / pace.microbatch_s;
    rate_per_s += 1 / pace.microbatch_s;
    level_s = weighted_fill / rate_per_s;
  }
  return level_s;
}

// Takes ⌊(L − fill_r) / microbatch_r⌋ − 1 microbatches for pipeline r, and
// assigns the rest one by one to the pipeline that then ends first.
std::vector<int64_t> ShareMicrobatches(absl::Span<const PipelinePace> pipelines,
                                       int64_t num_microbatches) {
  const double level_s = WaterLevelSeconds(pipelines, num_microbatches);
  // The greedy rule gives each pipeline at least its fractional share, rounded
  // down. One less allows for a division that was rounded up.
  std::vector<int64_t> shares(pipelines.size());
  int64_t given = 0;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    const double share =
        (level_s - pipelines[r].fill_s) / pipelines[r].microbatch_s;
    shares[r] = std::max<int64_t>(0, static_cast<int64_t>(share) - 1);
    given += shares[r];
  }
  for (; given < num_microbatches; ++given) {
    size_t first = 0;
    double first_end_s = HUGE_VAL;
    for (size_t r = 0; r < pipelines.size(); ++r) {
      const double end_s = EndSeconds(pipelines[r], shares[r] + 1);
      if (end_s < first_end_s) {
        first = r;
        first_end_s = end_s;
      }
    }
    ++shares[first];
  }
  return shares;
}

// The end of some pipeline is the end of all. So the least end is one of the
// J_r(B): the bisection first narrows a real interval, then takes the greatest
// of the ends that it reaches.
std::optional<std::vector<int64_t>> ShareSamples(
    absl::Span<const SamplePace> pipelines, int64_t num_samples) {
  if (pipelines.empty() || num_samples <= 0) return std::nullopt;
  int64_t unit = 0;
  for (const SamplePace& pipeline : pipelines) {
    unit = std::gcd(unit, int64_t{pipeline.microbatch_size});
  }
  if (num_samples % unit != 0) return std::nullopt;
  std::vector<int64_t> sizes;
  double most_s = 0;
  for (const SamplePace& pipeline : pipelines) {
    sizes.push_back(pipeline.microbatch_size / unit);
    if (pipeline.pace.fill_s == kInfinity) continue;
    most_s = std::max(
        most_s,
        EndSeconds(pipeline.pace, num_samples / pipeline.microbatch_size));
  }
  Sums sums(pipelines, sizes, num_samples / unit);
  if (!sums.Reach(most_s)) return std::nullopt;
  std::vector<int64_t> best = sums.Shares();
  const auto end_of = [&](const std::vector<int64_t>& shares) {
    double end_s = 0;
    for (size_t r = 0; r < shares.size(); ++r) {
      if (shares[r] == 0) continue;
      end_s = std::max(end_s, EndSeconds(pipelines[r].pace, shares[r]));
    }
    return end_s;
  };
  double low_s = 0;
  double high_s = end_of(best);
  // Ends whose difference is rounding count as equal.
  constexpr double kEqual = 1e-12;
  while (high_s - low_s > kEqual * high_s) {
    const double middle_s = low_s + (high_s - low_s) / 2;
    if (sums.Reach(middle_s)) {
      best = sums.Shares();
      high_s = end_of(best);
    } else {
      low_s = middle_s;
    }
  }
  return best;
}

}  // namespace tangram
