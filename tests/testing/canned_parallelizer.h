#ifndef TANGRAM_TESTS_TESTING_CANNED_PARALLELIZER_H_
#define TANGRAM_TESTS_TESTING_CANNED_PARALLELIZER_H_

#include <optional>
#include <string>
#include <vector>

#include "common/parallelizer/parallelizer.h"

namespace tangram::testing {

// Answers of a CannedParallelizer. An unset answer is that of a good
// parallelizer with one atom per layer.
struct CannedAnswers {
  std::optional<absl::StatusOr<std::vector<ModelSlice>>> atoms;
  std::optional<absl::StatusOr<ModelSlice>> joined;
  absl::StatusOr<PerformanceProfile> profile = PerformanceProfile();
  absl::StatusOr<SlicePlanSet> plans = SlicePlanSet();
};

// Gives the same answers to all questions.
class CannedParallelizer : public Parallelizer {
 public:
  explicit CannedParallelizer(CannedAnswers answers)
      : answers_(std::move(answers)) {}

  std::string name() const override { return "canned"; }
  std::string version() const override { return "7"; }
  ParallelizerFeatures features() const override {
    return {.context_parallel = true};
  }
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    return answers_.atoms.value_or(SliceByLayer(model));
  }
  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    return answers_.joined.value_or(JoinSlices(head, tail));
  }
  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& /*slice*/, const IslandSpec& /*island*/,
      const ProfileOptions& /*options*/) const override {
    return answers_.profile;
  }
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& /*slice*/, const IslandSpec& /*island*/,
      const ParallelizeOptions& /*options*/) const override {
    return answers_.plans;
  }

 private:
  const CannedAnswers answers_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_CANNED_PARALLELIZER_H_
