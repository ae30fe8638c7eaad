#include "frameworks/framework_catalogue.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "frameworks/export_pipelines.h"
#include "frameworks/export_plan.h"
#include "frameworks/framework_table.h"
#include "frameworks/losses.h"
#include "frameworks/runtime_rules.h"

namespace tangram {
namespace {

PlannedTraining Planned(const PlanRequest& request, const PipelinePlan& plan) {
  return {.cluster = request.cluster,
          .model = request.model,
          .training = request.training,
          .plan = plan};
}

std::vector<std::string> NamesIn(absl::string_view list) {
  return absl::StrSplit(list, ',');
}

class PlannedFramework : public PlanningRuntime {
 public:
  explicit PlannedFramework(const Framework& framework)
      : framework_(framework) {}

  absl::string_view name() const override { return framework_.name; }
  const Runtime& runs() const override { return framework_.runs; }

  std::vector<std::string> Parallelizers(
      const ModelSpec& model) const override {
    return NamesIn(DefaultParallelizers(model, &framework_));
  }

  std::vector<std::string> AllParallelizers() const override {
    return NamesIn(framework_.all_parallelizers);
  }

  absl::Status Check(const ModelSpec& model,
                     const TrainingOptions& training) const override {
    return framework_.CheckTraining(model, training);
  }

  TrainingOptions Train(const TrainingOptions& training) const override {
    return framework_.train == nullptr ? training : framework_.train(training);
  }

  std::vector<std::string> TrainingLosses(
      const TrainingOptions& asked) const override {
    const PipelinePlan nothing;
    return ListLosses({.training = asked}, Train(asked), nothing);
  }

  std::vector<std::string> FrameworkLosses(
      const PlanRequest& request, const PipelinePlan& plan) const override {
    const absl::StatusOr<FrameworkExport> exported =
        ExportPlan(framework_.name, Planned(request, plan));
    return exported.ok() ? exported->framework_losses
                         : std::vector<std::string>();
  }

  bool ReadsData() const override { return framework_.reads_data; }

  std::string WhyNotDevice(const DeviceSpec& device) const override {
    return framework_.why_not_device == nullptr
               ? ""
               : framework_.why_not_device(device);
  }

  std::function<bool(int)> AcceptsGpus() const override {
    return framework_.accepts_gpus;
  }

  std::vector<RuntimeVariant> Variants(
      const ModelSpec& model, const TrainingOptions& training,
      absl::Span<const IslandSpec> islands,
      absl::Span<const int> more_tp) const override {
    return VariantsOf(framework_, model, training, islands, more_tp);
  }

  absl::StatusOr<PipelinePlan> Fit(const PlanRequest& request,
                                   const PipelinePlan& plan) const override {
    return FitPlan(framework_, Planned(request, plan));
  }

  bool TrainsPipelines() const override {
    return framework_.write_pipelines != nullptr;
  }

  absl::Status CheckPipelines(const PlanRequest& request,
                              const ReplicatedPlan& plan) const override {
    const absl::StatusOr<FrameworkExport> exported =
        ExportPipelines(framework_.name, {.cluster = request.cluster,
                                          .model = request.model,
                                          .training = request.training,
                                          .plan = plan});
    TANGRAM_RETURN_IF_ERROR(exported.status());
    if (exported->losses.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(exported->losses.front());
  }

 private:
  const Framework& framework_;
};

class Catalogue : public RuntimeCatalogue {
 public:
  Catalogue() {
    for (const Framework* framework : PlanningRuntimes()) {
      runtimes_.emplace(framework,
                        std::make_unique<PlannedFramework>(*framework));
    }
  }

  absl::StatusOr<const PlanningRuntime*> Find(
      absl::string_view name) const override {
    TANGRAM_ASSIGN_OR_RETURN(
        const Framework* framework,
        FindFramework(PlanningRuntimes(), kRuntimeField, name));
    return runtimes_.at(framework).get();
  }

  std::vector<const PlanningRuntime*> All() const override {
    std::vector<const PlanningRuntime*> all;
    for (const Framework* framework : PlanningRuntimes()) {
      all.push_back(runtimes_.at(framework).get());
    }
    return all;
  }

  std::vector<std::string> FreeParallelizers(
      const ModelSpec& model) const override {
    return NamesIn(DefaultParallelizers(model, nullptr));
  }

  absl::Span<const Runtime> KnownRuntimes() const override {
    return tangram::KnownRuntimes();
  }

 private:
  std::map<const Framework*, std::unique_ptr<PlannedFramework>> runtimes_;
};

}  // namespace

const RuntimeCatalogue& FrameworkCatalogue() {
  static const auto& catalogue = *new Catalogue;
  return catalogue;
}

}  // namespace tangram
