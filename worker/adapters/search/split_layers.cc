#include "worker/adapters/search/split_layers.h"

#include <algorithm>

#include "common/base/infinity.h"

namespace tangram {
namespace {

// Sums of the same layers differ in their last digits, depending on where they
// start.
constexpr double kRoundedUp = 1 + 1e-9;

// Finds the least bound on the slowest stage, then divides the layers within
// it.
class Splitter {
 public:
  Splitter(absl::Span<const double> layer_seconds, int num_stages)
      : num_layers_(static_cast<int>(layer_seconds.size())),
        num_stages_(num_stages),
        before_(layer_seconds.size() + 1, 0.0) {
    for (int i = 0; i < num_layers_; ++i) {
      before_[i + 1] = before_[i] + layer_seconds[i];
    }
    const double longest =
        *std::max_element(layer_seconds.begin(), layer_seconds.end());
    bound_ = std::max(longest, before_[num_layers_] / num_stages);
    while (!FitsWithinBound()) {
    }
  }

  // From the back, each stage takes its share of the remaining layers, rounded
  // up to whole layers. It takes more if the stages before it cannot take the
  // rest.
  std::vector<int> Run() const {
    std::vector<int> ends(num_stages_);
    int end = num_layers_;
    for (int stage = num_stages_ - 1; stage >= 0; --stage) {
      ends[stage] = end;
      const double share = before_[end] / (stage + 1);
      int begin = end - 1;
      while (begin > 0 && Seconds(begin, end) * kRoundedUp < share &&
             Fits(begin - 1, end)) {
        --begin;
      }
      const int most_before = stage > 0 ? reach_[stage - 1] : 0;
      end = std::max(std::min(begin, most_before), stage);
    }
    return ends;
  }

 private:
  double Seconds(int begin, int end) const {
    return before_[end] - before_[begin];
  }
  bool Fits(int begin, int end) const {
    return Seconds(begin, end) <= bound_ * kRoundedUp;
  }

  // Fills every stage from the front up to the bound. If layers are left over,
  // raises the bound to the next value at which some stage takes one more
  // layer. Most stages take as many layers as the one before, so the search for
  // an end begins there.
  bool FitsWithinBound() {
    reach_.clear();
    reach_.reserve(num_stages_);
    double next_bound = kInfinity;
    int begin = 0;
    int count = num_layers_ / num_stages_;
    for (int stage = 0; stage < num_stages_; ++stage) {
      int end = std::min(begin + count, num_layers_);
      while (end > begin && !Fits(begin, end)) --end;
      while (end < num_layers_ && Fits(begin, end + 1)) ++end;
      count = end - begin;
      if (end < num_layers_) {
        next_bound = std::min(next_bound, Seconds(begin, end + 1));
      }
      reach_.push_back(end);
      begin = end;
    }
    if (begin == num_layers_) return true;
    bound_ = next_bound;
    return false;
  }

  int num_layers_ = 0;
  int num_stages_ = 0;
  std::vector<double> before_;  // By layer: seconds of all layers before it.
  double bound_ = 0;            // Time of the slowest stage.
  std::vector<int> reach_;  // By stage: layers that it and the stages before it
                            // can take in all.
};

}  // namespace

std::vector<int> SplitLayers(absl::Span<const double> layer_seconds,
                             int num_stages) {
  return Splitter(layer_seconds, num_stages).Run();
}

}  // namespace tangram
