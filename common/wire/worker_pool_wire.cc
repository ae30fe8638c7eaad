#include "common/wire/worker_pool_wire.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/field_checks.h"
#include "common/wire/model_wire.h"
#include "common/wire/slice_plan_wire.h"
#include "common/wire/training_wire.h"
#include "tangram/v1/worker_pool_service.pb.h"

namespace tangram {
namespace {

struct QueryEncoder {
  v1::Lease& lease;

  void operator()(const SliceModelQuery& query) {
    *lease.mutable_slice_model() = ToProto(query.model);
  }
  void operator()(const ConcatenateQuery& query) {
    *lease.mutable_concatenate() = ToProto({query.head, query.tail});
  }
  void operator()(const ProfileQuery& query) {
    v1::ProfileQuery& encoded = *lease.mutable_profile();
    encoded.set_slice(query.slice);
    encoded.set_island(query.island);
    encoded.set_pipeline_microbatch_size(query.pipeline_microbatch_size);
  }
  void operator()(const PairQuery& query) {
    v1::PairQuery& encoded = *lease.mutable_parallelize();
    encoded.set_slice(query.slice);
    encoded.set_island(query.island);
    encoded.set_pipeline_microbatch_size(query.pipeline_microbatch_size);
    encoded.set_trailing_stages(query.trailing_stages);
    encoded.set_max_search_steps(query.max_search_steps);
  }
};

struct AnswerEncoder {
  v1::Answer& message;

  void operator()(const std::vector<ModelSlice>& slices) {
    *message.mutable_slice_model() = ToProto(slices);
  }
  void operator()(const ModelSlice& slice) {
    *message.mutable_concatenate() = ToProto({&slice, 1});
  }
  void operator()(const PerformanceProfile& profile) {
    message.mutable_profile()->set_min_gpu_seconds(profile.min_gpu_seconds);
    message.mutable_profile()->set_min_total_bytes(profile.min_total_bytes);
  }
  void operator()(const SlicePlanSet& set) {
    *message.mutable_parallelize() = ToProto(set);
  }
};

absl::StatusOr<std::vector<ModelSlice>> DecodeSlices(
    const v1::SliceList& message, int expected) {
  TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> slices, FromProto(message));
  if (static_cast<int>(slices.size()) == expected) return slices;
  return InvalidField("slices", absl::StrCat(slices.size()),
                      absl::StrCat(expected));
}

absl::StatusOr<PerformanceProfile> DecodeProfile(
    const v1::PerformanceProfile& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckNotNegative("min_gpu_seconds", message.min_gpu_seconds()),
       CheckNotNegative("min_total_bytes", message.min_total_bytes())}));
  return PerformanceProfile{.min_gpu_seconds = message.min_gpu_seconds(),
                            .min_total_bytes = message.min_total_bytes()};
}

absl::StatusOr<Answer> DecodeResult(const v1::Answer& message) {
  switch (message.answer_case()) {
    case v1::Answer::kSliceModel:
      return FromProto(message.slice_model());
    case v1::Answer::kConcatenate: {
      TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> slices,
                               DecodeSlices(message.concatenate(), 1));
      return std::move(slices.front());
    }
    case v1::Answer::kProfile:
      return DecodeProfile(message.profile());
    case v1::Answer::kParallelize:
      return FromProto(message.parallelize());
    case v1::Answer::kError:
    case v1::Answer::ANSWER_NOT_SET:
      break;
  }
  return CheckPresent("answer", false);
}

}  // namespace

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
  TANGRAM_RETURN_IF_ERROR(CheckNotEmpty("name", message.name()));
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

void EncodeQuery(const Query& query, v1::Lease& lease) {
  std::visit(QueryEncoder{lease}, query);
}

absl::StatusOr<Query> DecodeQuery(const v1::Lease& lease) {
  switch (lease.query_case()) {
    case v1::Lease::kSliceModel: {
      TANGRAM_ASSIGN_OR_RETURN(
          ModelSpec model,
          InField("slice_model", FromProto(lease.slice_model())));
      return SliceModelQuery{std::move(model)};
    }
    case v1::Lease::kConcatenate: {
      TANGRAM_ASSIGN_OR_RETURN(
          std::vector<ModelSlice> slices,
          InField("concatenate", DecodeSlices(lease.concatenate(), 2)));
      return ConcatenateQuery{std::move(slices[0]), std::move(slices[1])};
    }
    case v1::Lease::kProfile:
      return ProfileQuery{.slice = lease.profile().slice(),
                          .island = lease.profile().island(),
                          .pipeline_microbatch_size =
                              lease.profile().pipeline_microbatch_size()};
    case v1::Lease::kParallelize: {
      const v1::PairQuery& query = lease.parallelize();
      return PairQuery{
          .slice = query.slice(),
          .island = query.island(),
          .pipeline_microbatch_size = query.pipeline_microbatch_size(),
          .trailing_stages = query.trailing_stages(),
          .max_search_steps = query.max_search_steps()};
    }
    case v1::Lease::QUERY_NOT_SET:
      break;
  }
  return CheckPresent("query", false);
}

void EncodeAnswer(const absl::StatusOr<Answer>& answer, v1::Answer& message) {
  if (answer.ok()) {
    std::visit(AnswerEncoder{message}, *answer);
  } else {
    message.mutable_error()->set_code(answer.status().raw_code());
    message.mutable_error()->set_message(
        std::string(answer.status().message()));
  }
}

absl::StatusOr<Answer> DecodeAnswer(const v1::Answer& message) {
  // Code 0 would be an error that is none.
  if (message.has_error() && message.error().code() != 0) {
    return absl::Status(static_cast<absl::StatusCode>(message.error().code()),
                        message.error().message());
  }
  absl::StatusOr<Answer> answer = DecodeResult(message);
  if (answer.ok()) return answer;
  return absl::InternalError(
      absl::StrCat("a worker answered nonsense: ", answer.status().message()));
}

std::string SerializeAnswer(const Answer& answer) {
  v1::Answer message;
  EncodeAnswer(answer, message);
  return message.SerializeAsString();
}

absl::StatusOr<Answer> ParseAnswer(const std::string& bytes) {
  v1::Answer message;
  if (!message.ParseFromString(bytes)) {
    return absl::DataLossError("not an answer");
  }
  return DecodeAnswer(message);
}

}  // namespace tangram
