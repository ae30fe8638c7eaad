#ifndef TANGRAM_TESTS_TESTING_FORWARDING_PARALLELIZER_H_
#define TANGRAM_TESTS_TESTING_FORWARDING_PARALLELIZER_H_

#include <string>
#include <vector>

#include "common/parallelizer/parallelizer.h"

namespace tangram::testing {

// Passes all calls on to another parallelizer. A base for those that differ
// from it in one function.
class ForwardingParallelizer : public Parallelizer {
 public:
  std::string name() const override { return target().name(); }
  std::string version() const override { return target().version(); }
  ParallelizerFeatures features() const override { return target().features(); }
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    return target().SliceModel(model);
  }
  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    return target().Concatenate(head, tail);
  }
  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    return target().Profile(slice, island, options);
  }
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    return target().Parallelize(slice, island, options);
  }

 private:
  virtual const Parallelizer& target() const = 0;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_FORWARDING_PARALLELIZER_H_
