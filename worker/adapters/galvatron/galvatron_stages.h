#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_STAGES_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_STAGES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/domain/island.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/galvatron/galvatron_degrees.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::galvatron {

// Degrees that the search sets besides tp, dp and ZeRO.
inline constexpr ExtraDegrees kGalvatronDegrees = {.cp = true};

// One way to run a range of layers as a stage.
struct StageOption {
  int degrees = 0;  // Index for StageTable::degrees().
  RecomputePlan recompute;
  double sync_s =
      0;  // Gradient reduction and optimizer step, once an iteration.

  double seconds() const { return recompute.seconds; }
  double with_sync_s() const { return seconds() + sync_s; }
  bool operator==(const StageOption&) const = default;
};

// The best stages on one number of GPUs, for one query. All numbers of stages
// with so many GPUs each share it. Keeps references to its arguments. Once
// `poll` has stopped, the results are of no use. Only one thread may use it at
// a time.
class StageTable {
 public:
  // `site` is that of the question, or null.
  StageTable(const SliceLayers& layers, int num_gpus, const IslandSpec& island,
             const ParallelizeOptions& options, StopPoll& poll,
             LayerCosts::Site* site = nullptr);

  // Returns the non-dominated combinations of degrees, ZeRO stage and
  // recomputation with which `in_flight` microbatches fit. Each is slower than
  // the one before and takes less time with its synchronisation. Empty if
  // nothing fits. The result is valid until the next call.
  absl::Span<const StageOption> OptionsOf(LayerRange range, int in_flight);

  // Returns a lower bound on the time of every option.
  double LeastSeconds(LayerRange range) {
    range = FirstLike(range);
    const LeastTime& least = At(range, least_);
    return least.count == count_ ? least.seconds : FindLeastSeconds(range);
  }

  // Returns a lower bound on the time of all stages together. Each may have
  // degrees of its own.
  double LeastLatencySeconds() const;

  DegreeCosts& degrees(int index) { return degrees_[index]; }

  // Returns the least excess over all degrees; see DegreeCosts.
  double LeastBytesOver(LayerRange range, int in_flight) const;

  // Begins to count the stages that are estimated, at 0. Stages that are known
  // from an earlier count are counted again, so that the effort of a search
  // does not depend on what it shares.
  void BeginCount() {
    ++count_;
    num_steps_ = 0;
  }

  // Returns the number of stages estimated in this count.
  int64_t num_steps() const { return num_steps_; }

 private:
  // Estimates of a range, by degrees.
  struct Kept {
    std::vector<KeptFigures> figures;
    std::vector<double> sync_s;  // Negative until known.
    int count = 0;               // The last count with them.
  };
  // The options of a range: indices [begin, end) into options_.
  struct Found {
    int begin = kUnknown;
    int end = kUnknown;
    int num_steps = 0;  // Steps to find them, without those of Kept.
    int count = 0;      // As in Kept.
  };
  static constexpr int kUnknown = -1;  // Not searched yet.

  struct LeastTime {
    double seconds = -1;  // Negative until known.
    int count = 0;        // As in Kept.
  };
  // Values of type T by range. The ranges that begin at one layer are a row,
  // which has no memory until it is needed: most ranges of a deep model are
  // like an earlier one.
  template <typename T>
  using ByRange = std::vector<std::vector<T>>;

  // Returns the place of a range, T() until it is set.
  template <typename T>
  T& At(LayerRange range, ByRange<T>& values) const {
    if (values.empty()) values.resize(layers_.size());
    std::vector<T>& row = values[range.begin];
    if (row.empty()) row.resize(layers_.size() - range.begin);
    return row[range.end - range.begin - 1];
  }
  // Returns an earlier range with the same layers, so that equal ranges share
  // entries.
  LayerRange FirstLike(LayerRange range) const {
    const int begin = layers_.FirstLike(range.begin, range.end);
    return {.begin = begin, .end = begin + range.size()};
  }
  Kept& KeptOf(LayerRange range);
  double FindLeastSeconds(LayerRange range);
  double SyncSeconds(LayerRange range, int degrees, Kept& kept);
  // Find and AppendBest append to options_.
  void Find(LayerRange range, int in_flight);
  void AppendBest(std::vector<StageOption>& found);

  const SliceLayers& layers_;
  StopPoll& poll_;
  std::vector<DegreeCosts> degrees_;
  ByRange<std::unique_ptr<Kept>> kept_;
  ByRange<LeastTime> least_;
  // By microbatches in flight and range.
  std::vector<ByRange<Found>> found_;
  std::vector<StageOption> options_;
  int count_ = 1;
  int64_t num_steps_ = 0;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_STAGES_H_
