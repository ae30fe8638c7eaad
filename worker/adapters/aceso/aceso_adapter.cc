#include "worker/adapters/aceso/aceso_adapter.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_plan.h"
#include "worker/adapters/aceso/aceso_profile.h"
#include "worker/adapters/aceso/aceso_search.h"

namespace tangram {
namespace {

constexpr int64_t kDefaultSearchSteps = 200;

// Stage counts tried. Beyond 16 a few, so that big islands can be used up; the
// paper's implementation stops at 16.
constexpr int kStageCounts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                11, 12, 13, 14, 15, 16, 24, 32, 48, 64};

// Stage counts whose start is this much slower than the best start's are not
// searched further.
constexpr double kPromising = 1.1;

// Plans of one configuration that bear more trailing stages by recomputing
// more. Each asks for twice as many more as the one before.
constexpr int kMaxTrailingVariants = 3;

absl::Status CheckDense(absl::Span<const LayerRun> runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].layer.is_moe()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "slice.runs[", i, "].layer.num_experts: ", runs[i].layer.num_experts,
        "; aceso plans dense layers only"));
  }
  return absl::OkStatus();
}

absl::Status CheckPositive(absl::string_view field, int value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, "; expected a positive integer"));
}

absl::Status CheckQuery(const ModelSlice& slice, const IslandSpec& island,
                        const TrainingOptions& training, int microbatch_size) {
  if (slice.runs.empty()) {
    return absl::InvalidArgumentError("slice.runs: empty; expected layers");
  }
  for (size_t i = 0; i < slice.runs.size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(CheckPositive(
        absl::StrCat("slice.runs[", i, "].count"), slice.runs[i].count));
  }
  TANGRAM_RETURN_IF_ERROR(CheckPositive("island.num_nodes", island.num_nodes));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("island.gpus_per_node", island.gpus_per_node));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("options.pipeline_microbatch_size", microbatch_size));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("options.training.global_batch_size",
                                        training.global_batch_size));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("options.training.sequence_length",
                                        training.sequence_length));
  if (training.global_batch_size % microbatch_size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("options.pipeline_microbatch_size: ", microbatch_size,
                     "; expected a divisor of the global batch ",
                     training.global_batch_size));
  }
  return CheckDense(slice.runs);
}

// Whether a stage count is worth searching from its start, given the best start
// of all stage counts.
bool IsPromising(const aceso::Configuration& start,
                 const aceso::Configuration& best_start) {
  if (best_start.bytes_short > 0) return true;
  return start.bytes_short == 0 &&
         start.score_s <= kPromising * best_start.score_s;
}

// Appends the plan of a configuration that fits, and those that bear more
// trailing stages.
void AppendPlans(aceso::CostTables& tables, const ModelSlice& slice,
                 aceso::Configuration configuration,
                 std::vector<SlicePlan>& plans) {
  int more = 1;
  for (int variant = 0;; ++variant, more *= 2) {
    plans.push_back(aceso::PlanOf(tables, slice, configuration));
    const int borne = plans.back().max_trailing_stages;
    if (variant == kMaxTrailingVariants || borne == kUnlimitedTrailingStages) {
      return;
    }
    configuration.trailing_stages = borne + more;
    aceso::Complete(tables, configuration);
    if (configuration.bytes_short > 0) return;
  }
}

SlicePlanSet SearchAll(aceso::CostTables& tables, const ModelSlice& slice) {
  std::vector<aceso::Configuration> starts;
  for (const int num_stages : kStageCounts) {
    auto start = aceso::StartConfiguration(tables, num_stages);
    if (start) starts.push_back(*std::move(start));
  }
  const aceso::Configuration best_start =
      *std::min_element(starts.begin(), starts.end(), aceso::IsBetter);
  const int64_t num_promising = std::count_if(
      starts.begin(), starts.end(), [&](const aceso::Configuration& start) {
        return IsPromising(start, best_start);
      });
  const int64_t all_steps = tables.options().max_search_steps;
  const int64_t steps_each =
      (all_steps == 0 ? kDefaultSearchSteps : all_steps) / num_promising;
  SlicePlanSet answer;
  Infeasible closest = {.reason = "does not fit in memory"};
  for (const aceso::Configuration& start : starts) {
    const aceso::SearchResult result = aceso::Search(
        tables, start, IsPromising(start, best_start) ? steps_each : 0);
    answer.search_steps += result.steps;
    answer.truncated |= result.truncated;
    if (result.best.bytes_short == 0) {
      AppendPlans(tables, slice, result.best, answer.plans);
    } else if (closest.bytes_short == 0 ||
               result.best.bytes_short < closest.bytes_short) {
      closest.bytes_short = result.best.bytes_short;
    }
  }
  aceso::KeepNonDominated(answer.plans);
  if (answer.plans.empty()) answer.infeasible = closest;
  return answer;
}

class AcesoParallelizer : public Parallelizer {
 public:
  std::string name() const override { return "aceso"; }
  std::string version() const override { return "1"; }

  ParallelizerFeatures features() const override {
    return {.data_parallel = true,
            .pipeline_parallel = true,
            .tensor_parallel = true,
            .gradient_accumulation = true,
            .recompute = true};
  }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    for (size_t i = 0; i < model.layers.size(); ++i) {
      if (!model.layers[i].is_moe()) continue;
      return absl::UnimplementedError(absl::StrCat(
          "model.layers[", i, "].num_experts: ", model.layers[i].num_experts,
          "; aceso plans dense layers only"));
    }
    return SliceByLayer(model);
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    if (tail.atoms.begin != head.atoms.end) {
      return absl::InvalidArgumentError(
          absl::StrCat("tail.atoms.begin: ", tail.atoms.begin, "; expected ",
                       head.atoms.end, ", where head ends"));
    }
    return JoinSlices(head, tail);
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    TANGRAM_RETURN_IF_ERROR(CheckQuery(slice, island, options.training,
                                       options.pipeline_microbatch_size));
    return aceso::LowerBounds(slice, island, options);
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    TANGRAM_RETURN_IF_ERROR(CheckQuery(slice, island, options.training,
                                       options.pipeline_microbatch_size));
    if (options.trailing_stages < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("options.trailing_stages: ", options.trailing_stages,
                       "; expected no negative number"));
    }
    if (options.max_search_steps < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("options.max_search_steps: ", options.max_search_steps,
                       "; expected no negative number"));
    }
    const aceso::SliceLayout layout(slice);
    const aceso::DegreeSpace space(layout, island,
                                   options.pipeline_microbatch_size);
    aceso::CostTables tables(layout, space, island, options);
    return SearchAll(tables, slice);
  }
};

}  // namespace

std::unique_ptr<Parallelizer> CreateAcesoParallelizer() {
  return std::make_unique<AcesoParallelizer>();
}

}  // namespace tangram
