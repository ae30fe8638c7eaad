#ifndef TANGRAM_TESTS_PARITY_GALVATRON_COST_H_
#define TANGRAM_TESTS_PARITY_GALVATRON_COST_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tests/parity/galvatron_profile.h"

// The cost model that Galvatron 3.0 publishes (bfloat16, 1F1B, sequence
// parallelism, asynchronous gradient reduction), with its quirks. It scores
// Galvatron's plans and ours alike. It has no context parallelism, and neither
// do Galvatron's searches.
namespace tangram::parity {

// Parallelism of one layer, or of embedding and head. tp or ulysses is 1.
struct LayerStrategy {
  int pp = 1;
  int tp = 1;
  int ulysses = 1;
  int dp = 1;
  bool zero3 = false;
  bool checkpoint = false;

  int degree() const { return tp > 1 ? tp : ulysses; }
  int num_shards() const { return dp * ulysses; }  // Shards of model state.
  bool operator==(const LayerStrategy&) const = default;
};

// Returns "pp-tp[*]-dp[f][-c][-sp]".
std::string NameOf(const LayerStrategy& strategy);

// Seconds of the last microbatch, which pays for gradient reduction, and of
// each other one.
struct StrategySeconds {
  double with_sync = 0;
  double without_sync = 0;
};

class GalvatronCost {
 public:
  GalvatronCost(const GalvatronProfile& profile, const GalvatronRun& run)
      : profile_(profile), run_(run) {}

  StrategySeconds LayerSeconds(const LayerStrategy& strategy, int chunks) const;
  double LayerMegabytes(const LayerStrategy& strategy, int chunks,
                        int stage) const;

  // Returns the seconds of embedding and head, by stage.
  std::vector<StrategySeconds> EndSeconds(const LayerStrategy& strategy,
                                          int chunks) const;
  double EndMegabytesOf(const LayerStrategy& strategy, int chunks,
                        int stage) const;

  // Returns the size of the buffer that all layers share for gathered
  // sequences.
  double BufferMegabytes(int pp, int degree, int chunks) const;

  // Returns the seconds between two neighbouring layers.
  double TransitionSeconds(const LayerStrategy& from, const LayerStrategy& to,
                           int chunks) const;

 private:
  int Samples(const LayerStrategy& strategy, int chunks) const;
  double BoundaryMegabytes(int samples) const;
  double GradientMsPerMegabyte(const LayerStrategy& strategy) const;
  double TensorParallelMs(const LayerStrategy& strategy, int samples) const;
  double LayerMs(const LayerStrategy& strategy, int chunks,
                 double gradient_mb) const;
  double ShardedFraction(const LayerStrategy& strategy, int chunks) const;

  const GalvatronProfile& profile_;
  const GalvatronRun& run_;
};

// Returns the time of one iteration of a pipeline whose stage i takes
// stages[i], which includes embedding and head without their gradient
// reduction.
double PipelineSeconds(absl::Span<const StrategySeconds> stages, int chunks);

}  // namespace tangram::parity

#endif  // TANGRAM_TESTS_PARITY_GALVATRON_COST_H_
