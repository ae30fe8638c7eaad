#include "coordinator/planners/rivals/amp/amp_planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/amp/amp_search.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "coordinator/planners/rivals/listed/recompute_choice.h"
#include "coordinator/planners/rivals/listed/whole_layers.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"

namespace tangram {
namespace {

constexpr char kName[] = "amp";

AmpCluster ClusterOf(const Cluster& cluster, const LayerProfiles& profiles) {
  AmpCluster result;
  result.inside.resize(cluster.groups.size());
  for (size_t n = 0; n < cluster.nodes.size(); ++n) {
    const Node& node = cluster.nodes[n];
    result.nodes.push_back({.type = profiles.type_of_node[n],
                            .group = node.group,
                            .gpus = node.num_gpus});
    result.inside[node.group] = node.intra_node.bandwidth_bytes_per_s;
  }
  for (const std::vector<Link>& links : cluster.links) {
    std::vector<double>& row = result.between.emplace_back();
    for (const Link& link : links) row.push_back(link.bandwidth_bytes_per_s);
  }
  return result;
}

// AMP's profiles are of forward passes, and it counts a backward pass twice.
double PassSeconds(const LayerProfile& layer, bool upstream) {
  return upstream ? 3 * layer.forward_s : layer.forward_s + layer.backward_s;
}

// A tied head's matrix is a copy of the embedding's, whose shape it has.
double CopiedBytes(const LayerSpec& head, int tp_degree,
                   const LayerProfile& profile) {
  if (!head.tied_embeddings || profile.parameters == 0) return 0;
  const double parameters =
      static_cast<double>(head.vocab_size) * head.hidden_size / tp_degree;
  return parameters * profile.gradient_bytes / profile.parameters;
}

AmpInput InputOf(const PlanRequest& request, const LayerProfiles& profiles,
                 bool upstream) {
  AmpInput input{.cluster = ClusterOf(*request.cluster, profiles),
                 .global_batch_size = request.training.global_batch_size,
                 .first_block = 1,
                 .num_blocks = request.model.num_layers() - 2};
  for (const ProfiledType& type : profiles.types) {
    input.capacity_bytes.push_back(type.memory_bytes - type.reserved_bytes);
  }
  for (const auto& [key, layers] : profiles.layers) {
    std::vector<AmpLayer>& made = input.layers[key];
    for (const LayerProfile& layer : layers) {
      made.push_back(
          {.pass_s = PassSeconds(layer, upstream),
           .boundary = profiles.boundary_bytes_per_sample * key.samples,
           .reduced = layer.gradient_bytes,
           .state_bytes = layer.state_bytes,
           .activation_bytes = layer.activation_bytes,
           .transient_bytes = layer.transient_bytes});
    }
    made.back().copied =
        CopiedBytes(request.model.layers.back(), key.tp_degree, layers.back());
  }
  return input;
}

// Plans with and without recomputation, and why there may be none.
class Listing {
 public:
  Listing(const PlanRequest& request, const std::vector<Island>& islands,
          const AmpOptions& options, PlanObserver& observer)
      : request_(request),
        islands_(islands),
        options_(options),
        observer_(observer) {}

  absl::StatusOr<ListedPlans> Run() {
    // An error for a batch out of range.
    TANGRAM_RETURN_IF_ERROR(MicrobatchSizes(request_).status());
    for (const LayerRecompute recompute : options_.recompute) {
      TANGRAM_RETURN_IF_ERROR(Add(recompute));
    }
    plans_.notes.push_back(absl::StrCat("planner amp: ", tried_,
                                        " strategies tried, ", over_memory_,
                                        " of them over the memory"));
    if (plans_.proposals.empty()) plans_.why_none = WhyNone();
    return std::move(plans_);
  }

 private:
  absl::Status Add(LayerRecompute recompute) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    observer_.OnPhase(PlanPhase::kProfiling);
    const LayerProfiles profiles =
        ProfileLayers(request_.model, request_.cluster, request_.training,
                      {.max_samples = options_.max_samples,
                       .recompute = recompute == LayerRecompute::kWholeLayer});
    observer_.OnPhase(PlanPhase::kComposition);
    const AmpDefects defects =
        options_.upstream ? AmpDefects::Upstream() : AmpDefects();
    AmpAnswer answer =
        SearchAmp(InputOf(request_, profiles, options_.upstream), defects,
                  [this] { return observer_.ShouldStop(); });
    if (answer.stopped) return absl::CancelledError("planning stopped");
    tried_ += answer.tried;
    too_deep_ += answer.too_deep;
    if (answer.over_memory > 0) {
      bytes_short_ = over_memory_ > 0
                         ? std::min(bytes_short_, answer.least_bytes_short)
                         : answer.least_bytes_short;
    }
    over_memory_ += answer.over_memory;
    for (AmpPlan& plan : answer.plans) {
      const double predicted_s = plan.predicted_s;
      plans_.proposals.push_back(
          {.make_plan =
               [this_request = &request_, islands = islands_,
                plan = std::move(plan), recompute] {
                 return Place(*this_request, islands, plan, recompute);
               },
           .predicted_s = predicted_s});
    }
    return absl::OkStatus();
  }

  static PipelinePlan Place(const PlanRequest& request,
                            const std::vector<Island>& islands,
                            const AmpPlan& plan, LayerRecompute recompute) {
    const std::vector<GpuId> gpus = GpusInOrder(*request.cluster);
    const StageParallelism parallelism{.tp_degree = plan.tp_degree,
                                       .dp_degree = plan.dp_degree};
    PipelinePlan placed{.pipeline_microbatch_size =
                            plan.samples * plan.dp_degree};
    auto next = gpus.begin();
    for (int s = 0; s < plan.num_stages(); ++s) {
      PlacedStage& stage = placed.stages.emplace_back();
      stage.plan = WholeLayers(request.model, plan.bounds[s],
                               plan.bounds[s + 1], parallelism, recompute);
      stage.gpus.assign(next, next + parallelism.num_gpus());
      next += parallelism.num_gpus();
    }
    NamePlaces(islands, kName, placed);
    return placed;
  }

  Infeasible WhyNone() const {
    if (over_memory_ > 0) {
      return {.reason = absl::StrCat("none of ", tried_,
                                     " strategies of amp fits in memory"),
              .bytes_short = bytes_short_};
    }
    if (too_deep_ > 0) {
      return {.reason = absl::StrCat(
                  "amp uses every GPU, and all its pipelines have more stages "
                  "than the model's ",
                  request_.model.num_layers(), " layers")};
    }
    return {.reason =
                "amp knows no tensor parallel degree that all GPU types have"};
  }

  const PlanRequest& request_;
  const std::vector<Island>& islands_;
  const AmpOptions& options_;
  PlanObserver& observer_;

  ListedPlans plans_;
  int tried_ = 0;
  int over_memory_ = 0;
  int too_deep_ = 0;
  double bytes_short_ = 0;
};

AmpOptions OptionsOf(const PlannerOptionValues& values) {
  return {.upstream = values.Choice("mode") == "upstream",
          .recompute = RecomputesToTry(values.Choice("recompute")),
          .max_samples = static_cast<int>(values.Integer("max_samples"))};
}

}  // namespace

std::unique_ptr<Planner> CreateAmpPlanner(const AmpOptions& options) {
  return CreateListedPlanner(
      [options](const PlanRequest& request, const std::vector<Island>& islands,
                PlanObserver& observer) {
        return Listing(request, islands, options, observer).Run();
      },
      ProposeInOrder);
}

PlannerInfo AmpPlanner() {
  using Type = PlannerOption::Type;
  return {
      .name = kName,
      .description =
          "one tensor and data parallel degree for the whole cluster, stages "
          "of unequal layers",
      .origin = "AMP, NeurIPS 2022",
      .features = {.heterogeneous = true},
      .options = {{.name = "mode",
                   .type = Type::kChoice,
                   .default_value = "corrected",
                   .description = "plan as published, or without its defects",
                   .choices = {"corrected", "upstream"}},
                  RecomputeOption("first plans with nothing, then full"),
                  {.name = "max_samples",
                   .type = Type::kInteger,
                   .default_value = absl::StrCat(AmpOptions().max_samples),
                   .description = "largest microbatch of a replica to profile",
                   .least = 1,
                   .most = 1024}},
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues& values, const PipelineRules&) {
        return CreateAmpPlanner(OptionsOf(values));
      }};
}

}  // namespace tangram
