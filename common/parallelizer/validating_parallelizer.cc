#include "common/parallelizer/validating_parallelizer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/check_answer.h"
#include "common/parallelizer/check_answers.h"
#include "common/parallelizer/check_arguments.h"
#include "common/parallelizer/keep_within.h"

namespace tangram {
namespace {

std::string QueryText(const ModelSlice& slice, const IslandSpec& island,
                      int pipeline_microbatch_size) {
  return absl::StrFormat("atoms [%d, %d) on %d x %d %s, microbatch %d",
                         slice.atoms.begin, slice.atoms.end, island.num_nodes,
                         island.gpus_per_node, island.device.type,
                         pipeline_microbatch_size);
}

class ValidatingParallelizer : public Parallelizer {
 public:
  explicit ValidatingParallelizer(std::unique_ptr<Parallelizer> wrapped)
      : wrapped_(std::move(wrapped)) {}

  std::string name() const override { return wrapped_->name(); }
  std::string version() const override { return wrapped_->version(); }
  ParallelizerFeatures features() const override {
    return wrapped_->features();
  }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    TANGRAM_RETURN_IF_ERROR(CheckModel(model, "model"));
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> atoms,
                             wrapped_->SliceModel(model));
    const absl::Status status = CheckAtoms(atoms, model);
    if (!status.ok()) return Blame("SliceModel", model.name, status);
    return atoms;
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    TANGRAM_RETURN_IF_ERROR(CheckConcatenation(head, tail));
    TANGRAM_ASSIGN_OR_RETURN(ModelSlice joined,
                             wrapped_->Concatenate(head, tail));
    const absl::Status status = CheckJoined(joined, head, tail);
    if (status.ok()) return joined;
    return Blame(
        "Concatenate",
        absl::StrFormat("atoms [%d, %d) and [%d, %d)", head.atoms.begin,
                        head.atoms.end, tail.atoms.begin, tail.atoms.end),
        status);
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    TANGRAM_RETURN_IF_ERROR(CheckSlice(slice, "slice"));
    TANGRAM_RETURN_IF_ERROR(CheckIslandSpec(island, "island"));
    TANGRAM_RETURN_IF_ERROR(CheckProfileOptions(options, "options"));
    TANGRAM_ASSIGN_OR_RETURN(PerformanceProfile profile,
                             wrapped_->Profile(slice, island, options));
    const absl::Status status = CheckProfile(profile);
    if (status.ok()) return profile;
    return Blame("Profile",
                 QueryText(slice, island, options.pipeline_microbatch_size),
                 status);
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    TANGRAM_RETURN_IF_ERROR(CheckSlice(slice, "slice"));
    TANGRAM_RETURN_IF_ERROR(CheckIslandSpec(island, "island"));
    TANGRAM_RETURN_IF_ERROR(CheckParallelizeOptions(options, "options"));
    TANGRAM_ASSIGN_OR_RETURN(SlicePlanSet answer,
                             wrapped_->Parallelize(slice, island, options));
    KeepUseful(options, answer);
    absl::Status status = CheckPlans(answer, slice, island, options, name());
    if (status.ok()) status = CheckFeatures(answer, features(), island.limits);
    if (status.ok()) return answer;
    return Blame(
        "Parallelize",
        absl::StrCat(QueryText(slice, island, options.pipeline_microbatch_size),
                     ", trailing stages ", options.trailing_stages),
        status);
  }

 private:
  // "aceso: Parallelize(atoms [2, 9) on 2 x 8 T4, ...): plans[0]...."
  absl::Status Blame(absl::string_view function, absl::string_view query,
                     const absl::Status& problem) const {
    return absl::InternalError(absl::StrCat(name(), ": ", function, "(", query,
                                            "): ", problem.message()));
  }

  const std::unique_ptr<Parallelizer> wrapped_;
};

}  // namespace

std::unique_ptr<Parallelizer> CreateValidatingParallelizer(
    std::unique_ptr<Parallelizer> wrapped) {
  return std::make_unique<ValidatingParallelizer>(std::move(wrapped));
}

}  // namespace tangram
