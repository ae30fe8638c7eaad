#include "common/wire/parallelizer_wire.h"

#include <utility>

#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/field_checks.h"
#include "common/wire/model_wire.h"
#include "common/wire/training_wire.h"
#include "tangram/v1/parallelizer.pb.h"

namespace tangram {

v1::Adapter ToProto(const AdapterInfo& adapter) {
  v1::Adapter message;
  message.set_name(adapter.id.name);
  message.set_version(adapter.id.version);
  v1::ParallelizerFeatures& features = *message.mutable_features();
  features.set_data_parallel(adapter.features.data_parallel);
  features.set_pipeline_parallel(adapter.features.pipeline_parallel);
  features.set_tensor_parallel(adapter.features.tensor_parallel);
  features.set_context_parallel(adapter.features.context_parallel);
  features.set_expert_parallel(adapter.features.expert_parallel);
  features.set_gradient_accumulation(adapter.features.gradient_accumulation);
  features.set_recompute(adapter.features.recompute);
  features.set_offload(adapter.features.offload);
  features.set_zero(adapter.features.zero);
  features.set_moe_models(adapter.features.moe_models);
  return message;
}

absl::StatusOr<AdapterInfo> FromProto(const v1::Adapter& message) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckName("name", message.name()),
                  CheckLabel("version", message.version()),
                  CheckPrintable("name", message.name()),
                  CheckPrintable("version", message.version())}));
  const v1::ParallelizerFeatures& features = message.features();
  return AdapterInfo{
      .id = {.name = message.name(), .version = message.version()},
      .features = {.data_parallel = features.data_parallel(),
                   .pipeline_parallel = features.pipeline_parallel(),
                   .tensor_parallel = features.tensor_parallel(),
                   .context_parallel = features.context_parallel(),
                   .expert_parallel = features.expert_parallel(),
                   .gradient_accumulation = features.gradient_accumulation(),
                   .recompute = features.recompute(),
                   .offload = features.offload(),
                   .zero = features.zero(),
                   .moe_models = features.moe_models()}};
}

v1::PairContext ToProto(const PairContext& context) {
  v1::PairContext message;
  *message.mutable_training() = ToProto(context.training);
  *message.mutable_slices() = ToProto(context.slices);
  for (const IslandSpec& island : context.islands) {
    *message.add_islands() = ToProto(island);
  }
  return message;
}

absl::StatusOr<PairContext> FromProto(const v1::PairContext& message) {
  PairContext context;
  TANGRAM_ASSIGN_OR_RETURN(context.training,
                           InField("training", FromProto(message.training())));
  TANGRAM_ASSIGN_OR_RETURN(context.slices,
                           InField("slices", FromProto(message.slices())));
  for (int i = 0; i < message.islands_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        IslandSpec island,
        InField("islands", i, FromProto(message.islands(i))));
    context.islands.push_back(std::move(island));
  }
  return context;
}

v1::ProfileQuery ToProto(const ProfileQuery& query) {
  v1::ProfileQuery message;
  message.set_slice(query.slice);
  message.set_island(query.island);
  message.set_pipeline_microbatch_size(query.pipeline_microbatch_size);
  return message;
}

v1::PairQuery ToProto(const PairQuery& query) {
  v1::PairQuery message;
  message.set_slice(query.slice);
  message.set_island(query.island);
  message.set_pipeline_microbatch_size(query.pipeline_microbatch_size);
  message.set_trailing_stages(query.trailing_stages);
  message.set_max_search_steps(query.max_search_steps);
  if (query.limit_s < kInfinity) message.set_limit_s(query.limit_s);
  return message;
}

v1::PerformanceProfile ToProto(const PerformanceProfile& profile) {
  v1::PerformanceProfile message;
  message.set_min_gpu_seconds(profile.min_gpu_seconds);
  message.set_min_total_bytes(profile.min_total_bytes);
  message.set_min_latency_s(profile.min_latency_s);
  return message;
}

absl::StatusOr<PerformanceProfile> FromProto(
    const v1::PerformanceProfile& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckNotNegative("min_gpu_seconds", message.min_gpu_seconds()),
       CheckNotNegative("min_latency_s", message.min_latency_s()),
       CheckNotNegative("min_total_bytes", message.min_total_bytes())}));
  return PerformanceProfile{.min_gpu_seconds = message.min_gpu_seconds(),
                            .min_latency_s = message.min_latency_s(),
                            .min_total_bytes = message.min_total_bytes()};
}

}  // namespace tangram
