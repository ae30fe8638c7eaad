#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_NUMPY_RANDOM_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_NUMPY_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <random>

namespace tangram {

// The numbers that numpy's RandomState draws: a Mersenne twister (Matsumoto and
// Nishimura 1998), real numbers of 53 bits, and binomial numbers by inversion
// of the distribution (Kachitvichyanukul and Schmeiser 1988).
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : twister_(seed) {}

  // In [0, 1).
  double Real() {
    const double high = static_cast<double>(twister_() >> 5);
    const double low = static_cast<double>(twister_() >> 6);
    return (high * 67108864 + low) / 9007199254740992;
  }

  bool Bit() { return twister_() & 1; }

  // How many of n ≥ 1 trials succeed, each with probability p ≤ 0.5.
  int Binomial(int n, double p) {
    double at_least = Real();
    double exactly = std::pow(1 - p, n);
    for (int k = 0; k < n; ++k) {
      if (at_least <= exactly) return k;
      at_least -= exactly;
      exactly *= (n - k) * p / ((k + 1) * (1 - p));
    }
    return n;
  }

 private:
  std::mt19937 twister_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_NUMPY_RANDOM_H_
