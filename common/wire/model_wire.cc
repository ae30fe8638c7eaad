#include "common/wire/model_wire.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/model_rules.h"
#include "common/wire/field_checks.h"
#include "tangram/v1/model.pb.h"

namespace tangram {
namespace {

using LayerTypes = google::protobuf::RepeatedPtrField<v1::LayerSpec>;
using LayerRuns = google::protobuf::RepeatedPtrField<v1::LayerRun>;

v1::LayerSpec::Kind ToProto(LayerKind kind) {
  switch (kind) {
    case LayerKind::kEmbedding:
      return v1::LayerSpec::EMBEDDING;
    case LayerKind::kTransformer:
      return v1::LayerSpec::TRANSFORMER;
    case LayerKind::kHead:
      return v1::LayerSpec::HEAD;
  }
  return v1::LayerSpec::KIND_UNSPECIFIED;
}

absl::StatusOr<LayerKind> FromProto(v1::LayerSpec::Kind kind) {
  for (const LayerKind known :
       {LayerKind::kEmbedding, LayerKind::kTransformer, LayerKind::kHead}) {
    if (ToProto(known) == kind) return known;
  }
  return FieldError("kind", absl::StrCat(static_cast<int>(kind)),
                    "EMBEDDING, TRANSFORMER or HEAD");
}

v1::LayerSpec::Mixer ToProto(MixerKind mixer) {
  switch (mixer) {
    case MixerKind::kAttention:
      return v1::LayerSpec::ATTENTION;
    case MixerKind::kMamba:
      return v1::LayerSpec::MAMBA;
    case MixerKind::kMamba2:
      return v1::LayerSpec::MAMBA2;
    case MixerKind::kNone:
      return v1::LayerSpec::NONE;
  }
  return v1::LayerSpec::ATTENTION;
}

absl::StatusOr<MixerKind> FromProto(v1::LayerSpec::Mixer mixer) {
  for (const MixerKind known : {MixerKind::kAttention, MixerKind::kMamba,
                                MixerKind::kMamba2, MixerKind::kNone}) {
    if (ToProto(known) == mixer) return known;
  }
  return FieldError("mixer", absl::StrCat(static_cast<int>(mixer)),
                    "ATTENTION, MAMBA, MAMBA2 or NONE");
}

v1::MambaDimensions ToProto(const MambaDimensions& mamba) {
  v1::MambaDimensions message;
  message.set_inner_size(mamba.inner_size);
  message.set_head_dim(mamba.head_dim);
  message.set_groups(mamba.groups);
  message.set_state_size(mamba.state_size);
  message.set_conv_kernel(mamba.conv_kernel);
  message.set_dt_rank(mamba.dt_rank);
  message.set_inner_norms(mamba.inner_norms);
  return message;
}

absl::StatusOr<MambaDimensions> FromProto(const v1::MambaDimensions& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckNotNegative("inner_size", message.inner_size(), kMaxFfnHiddenSize),
       CheckNotNegative("head_dim", message.head_dim(), kMaxHeadDim),
       CheckNotNegative("groups", message.groups(), kMaxHeads),
       CheckNotNegative("state_size", message.state_size(), kMaxStateSize),
       CheckNotNegative("conv_kernel", message.conv_kernel(), kMaxConvKernel),
       CheckNotNegative("dt_rank", message.dt_rank(), kMaxHiddenSize)}));
  return MambaDimensions{.inner_size = message.inner_size(),
                         .head_dim = message.head_dim(),
                         .groups = message.groups(),
                         .state_size = message.state_size(),
                         .conv_kernel = message.conv_kernel(),
                         .dt_rank = message.dt_rank(),
                         .inner_norms = message.inner_norms()};
}

// Encodes runs of layers. They refer to a table of the distinct layers.
class LayerTable {
 public:
  explicit LayerTable(LayerTypes& types) : types_(types) {}

  void AddRun(const LayerSpec& layer, int count, LayerRuns& runs) {
    const int type = IndexOf(layer);
    if (!runs.empty() && runs.rbegin()->layer_type() == type) {
      runs.rbegin()->set_count(runs.rbegin()->count() + count);
      return;
    }
    v1::LayerRun& run = *runs.Add();
    run.set_layer_type(type);
    run.set_count(count);
  }

 private:
  int IndexOf(const LayerSpec& layer) {
    const auto it = std::find(layers_.begin(), layers_.end(), layer);
    const int index = static_cast<int>(it - layers_.begin());
    if (it == layers_.end()) {
      layers_.push_back(layer);
      *types_.Add() = tangram::ToProto(layer);
    }
    return index;
  }

  LayerTypes& types_;
  std::vector<LayerSpec> layers_;
};

absl::StatusOr<std::vector<LayerSpec>> DecodeTypes(const LayerTypes& types) {
  TANGRAM_RETURN_IF_ERROR(CheckCount("layer_types", types.size(), kMaxLayers));
  std::vector<LayerSpec> layers;
  for (int i = 0; i < types.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        const LayerSpec layer,
        InField("layer_types", i, tangram::FromProto(types[i])));
    layers.push_back(layer);
  }
  return layers;
}

absl::StatusOr<std::vector<LayerRun>> DecodeRuns(
    absl::string_view field, const LayerRuns& runs,
    const std::vector<LayerSpec>& types) {
  std::vector<LayerRun> decoded;
  int64_t num_layers = 0;
  for (int i = 0; i < runs.size(); ++i) {
    num_layers += runs[i].count();
    TANGRAM_RETURN_IF_ERROR(InField(
        field, i,
        FirstError(
            {CheckIndex("layer_type", runs[i].layer_type(), types.size()),
             CheckPositive("count", runs[i].count(), kMaxLayers)})));
    decoded.push_back(
        {.layer = types[runs[i].layer_type()], .count = runs[i].count()});
  }
  TANGRAM_RETURN_IF_ERROR(CheckPositive(field, num_layers, kMaxLayers));
  return decoded;
}

absl::StatusOr<ModelSlice> DecodeSlice(const v1::ModelSlice& message,
                                       const std::vector<LayerSpec>& types) {
  ModelSlice slice{.atoms = {message.begin_atom(), message.end_atom()}};
  TANGRAM_RETURN_IF_ERROR(
      CheckNotNegative("begin_atom", slice.atoms.begin, kMaxLayers));
  if (slice.atoms.end <= slice.atoms.begin || slice.atoms.end > kMaxLayers) {
    return FieldError("end_atom", absl::StrCat(slice.atoms.end),
                      absl::StrCat("an atom after ", slice.atoms.begin));
  }
  TANGRAM_ASSIGN_OR_RETURN(slice.runs,
                           DecodeRuns("runs", message.runs(), types));
  // Joining to an empty slice makes the runs canonical and computes the
  // fingerprint.
  return JoinSlices({.atoms = {slice.atoms.begin, slice.atoms.begin}}, slice);
}

v1::ModelDetails ToProto(const ModelDetails& details) {
  v1::ModelDetails message;
  message.set_rope_theta(details.rope_theta);
  message.set_rope_fraction(details.rope_fraction);
  if (details.rope_scaling != RopeScaling()) {
    const RopeScaling& scaling = details.rope_scaling;
    v1::RopeScaling& written = *message.mutable_rope_scaling();
    written.set_type(scaling.type);
    written.set_factor(scaling.factor);
    written.set_low_freq_factor(scaling.low_freq_factor);
    written.set_high_freq_factor(scaling.high_freq_factor);
    written.set_original_positions(scaling.original_positions);
  }
  message.set_norm_epsilon(details.norm_epsilon);
  if (details.attention_dropout.has_value()) {
    message.set_attention_dropout(*details.attention_dropout);
  }
  if (details.hidden_dropout.has_value()) {
    message.set_hidden_dropout(*details.hidden_dropout);
  }
  message.set_dtype(details.dtype);
  message.set_attention_softcap(details.attention_softcap);
  message.set_logit_softcap(details.logit_softcap);
  if (details.no_positions) message.set_no_positions(true);
  for (const std::string& what : details.unplanned) {
    message.add_unplanned(what);
  }
  return message;
}

absl::StatusOr<RopeScaling> FromProto(const v1::RopeScaling& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckName("type", message.type()),
       CheckWithin("factor", message.factor(), 0, kMaxModelDetail),
       CheckWithin("low_freq_factor", message.low_freq_factor(), 0,
                   kMaxModelDetail),
       CheckWithin("high_freq_factor", message.high_freq_factor(), 0,
                   kMaxModelDetail),
       CheckNotNegative("original_positions", message.original_positions(),
                        kMaxPositions)}));
  return RopeScaling{.type = message.type(),
                     .factor = message.factor(),
                     .low_freq_factor = message.low_freq_factor(),
                     .high_freq_factor = message.high_freq_factor(),
                     .original_positions = message.original_positions()};
}

absl::StatusOr<ModelDetails> FromProto(const v1::ModelDetails& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckWithin("rope_theta", message.rope_theta(), 0, kMaxModelDetail),
       CheckFraction("rope_fraction", message.rope_fraction()),
       CheckFraction("norm_epsilon", message.norm_epsilon()),
       CheckFraction("attention_dropout", message.attention_dropout()),
       CheckFraction("hidden_dropout", message.hidden_dropout()),
       CheckLabel("dtype", message.dtype()),
       CheckPrintable("dtype", message.dtype()),
       CheckWithin("attention_softcap", message.attention_softcap(), 0,
                   kMaxModelDetail),
       CheckWithin("logit_softcap", message.logit_softcap(), 0,
                   kMaxModelDetail)}));
  if (message.unplanned_size() > kMaxUnplannedParts) {
    return FieldError("unplanned",
                      absl::StrCat(message.unplanned_size(), " texts"),
                      absl::StrCat("at most ", kMaxUnplannedParts));
  }
  for (int i = 0; i < message.unplanned_size(); ++i) {
    const std::string field = absl::StrCat("unplanned[", i, "]");
    TANGRAM_RETURN_IF_ERROR(
        FirstError({CheckLength(field, message.unplanned(i), kMaxTextBytes),
                    CheckPrintable(field, message.unplanned(i))}));
  }
  ModelDetails details{
      .rope_theta = message.rope_theta(),
      .rope_fraction = message.rope_fraction(),
      .norm_epsilon = message.norm_epsilon(),
      .dtype = message.dtype(),
      .attention_softcap = message.attention_softcap(),
      .logit_softcap = message.logit_softcap(),
      .no_positions = message.no_positions(),
      .unplanned = {message.unplanned().begin(), message.unplanned().end()}};
  if (message.has_attention_dropout()) {
    details.attention_dropout = message.attention_dropout();
  }
  if (message.has_hidden_dropout()) {
    details.hidden_dropout = message.hidden_dropout();
  }
  if (message.has_rope_scaling()) {
    TANGRAM_ASSIGN_OR_RETURN(
        details.rope_scaling,
        InField("rope_scaling", FromProto(message.rope_scaling())));
  }
  return details;
}

}  // namespace

v1::LayerSpec ToProto(const LayerSpec& layer) {
  v1::LayerSpec message;
  message.set_kind(ToProto(layer.kind));
  message.set_hidden_size(layer.hidden_size);
  message.set_num_heads(layer.num_heads);
  message.set_num_kv_heads(layer.num_kv_heads);
  message.set_head_dim(layer.head_dim);
  message.set_value_head_dim(layer.value_head_dim);
  message.set_sliding_window(layer.sliding_window);
  message.set_q_lora_rank(layer.q_lora_rank);
  message.set_kv_lora_rank(layer.kv_lora_rank);
  message.set_rope_head_dim(layer.rope_head_dim);
  message.set_ffn_hidden_size(layer.ffn_hidden_size);
  message.set_gated_mlp(layer.gated_mlp);
  message.set_num_experts(layer.num_experts);
  message.set_experts_per_token(layer.experts_per_token);
  message.set_expert_ffn_hidden_size(layer.expert_ffn_hidden_size);
  message.set_shared_expert_ffn_hidden_size(
      layer.shared_expert_ffn_hidden_size);
  message.set_expert_capacity_factor(layer.expert_capacity_factor);
  message.set_expert_group_tokens(layer.expert_group_tokens);
  message.set_vocab_size(layer.vocab_size);
  message.set_max_position_embeddings(layer.max_position_embeddings);
  message.set_tied_embeddings(layer.tied_embeddings);
  message.set_linear_bias(layer.linear_bias);
  message.set_norm_bias(layer.norm_bias);
  message.set_qkv_bias(layer.qkv_bias);
  message.set_qk_norm(layer.qk_norm);
  // Plain layers are written as they were before there were others.
  if (layer.mixer != MixerKind::kAttention) {
    message.set_mixer(ToProto(layer.mixer));
  }
  if (layer.no_mlp) message.set_no_mlp(true);
  if (layer.expert_latent_size > 0) {
    message.set_expert_latent_size(layer.expert_latent_size);
  }
  if (layer.mamba != MambaDimensions()) {
    *message.mutable_mamba() = ToProto(layer.mamba);
  }
  return message;
}

v1::Model ToProto(const ModelSpec& model) {
  v1::Model message;
  message.set_name(model.name);
  if (model.details != ModelDetails()) {
    *message.mutable_details() = ToProto(model.details);
  }
  LayerTable table(*message.mutable_layer_types());
  for (const LayerSpec& layer : model.layers) {
    table.AddRun(layer, 1, *message.mutable_layers());
  }
  return message;
}

v1::SliceList ToProto(absl::Span<const ModelSlice> slices) {
  v1::SliceList message;
  LayerTable table(*message.mutable_layer_types());
  for (const ModelSlice& slice : slices) {
    v1::ModelSlice& encoded = *message.add_slices();
    encoded.set_begin_atom(slice.atoms.begin);
    encoded.set_end_atom(slice.atoms.end);
    for (const LayerRun& run : slice.runs) {
      table.AddRun(run.layer, run.count, *encoded.mutable_runs());
    }
  }
  return message;
}

absl::StatusOr<LayerSpec> FromProto(const v1::LayerSpec& message) {
  LayerSpec layer;
  TANGRAM_ASSIGN_OR_RETURN(layer.kind, FromProto(message.kind()));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("hidden_size", message.hidden_size(), kMaxHiddenSize));
  layer.hidden_size = message.hidden_size();

  struct Dimension {
    const char* field;
    int value;
    int LayerSpec::*member;
    int most;
  };
  const Dimension dimensions[] = {
      {"num_heads", message.num_heads(), &LayerSpec::num_heads, kMaxHeads},
      {"num_kv_heads", message.num_kv_heads(), &LayerSpec::num_kv_heads,
       kMaxHeads},
      {"head_dim", message.head_dim(), &LayerSpec::head_dim, kMaxHeadDim},
      {"value_head_dim", message.value_head_dim(), &LayerSpec::value_head_dim,
       kMaxHeadDim},
      {"sliding_window", message.sliding_window(), &LayerSpec::sliding_window,
       kMaxPositions},
      {"q_lora_rank", message.q_lora_rank(), &LayerSpec::q_lora_rank,
       kMaxHiddenSize},
      {"kv_lora_rank", message.kv_lora_rank(), &LayerSpec::kv_lora_rank,
       kMaxHiddenSize},
      {"rope_head_dim", message.rope_head_dim(), &LayerSpec::rope_head_dim,
       kMaxHeadDim},
      {"ffn_hidden_size", message.ffn_hidden_size(),
       &LayerSpec::ffn_hidden_size, kMaxFfnHiddenSize},
      {"num_experts", message.num_experts(), &LayerSpec::num_experts,
       kMaxExperts},
      {"experts_per_token", message.experts_per_token(),
       &LayerSpec::experts_per_token, kMaxExperts},
      {"expert_ffn_hidden_size", message.expert_ffn_hidden_size(),
       &LayerSpec::expert_ffn_hidden_size, kMaxFfnHiddenSize},
      {"shared_expert_ffn_hidden_size", message.shared_expert_ffn_hidden_size(),
       &LayerSpec::shared_expert_ffn_hidden_size, kMaxFfnHiddenSize},
      {"expert_latent_size", message.expert_latent_size(),
       &LayerSpec::expert_latent_size, kMaxHiddenSize},
      {"expert_group_tokens", message.expert_group_tokens(),
       &LayerSpec::expert_group_tokens, kMaxPositions},
      {"vocab_size", message.vocab_size(), &LayerSpec::vocab_size,
       kMaxVocabulary},
      {"max_position_embeddings", message.max_position_embeddings(),
       &LayerSpec::max_position_embeddings, kMaxPositions},
  };
  for (const Dimension& dimension : dimensions) {
    TANGRAM_RETURN_IF_ERROR(
        CheckNotNegative(dimension.field, dimension.value, dimension.most));
    layer.*dimension.member = dimension.value;
  }
  layer.expert_capacity_factor = message.expert_capacity_factor();
  layer.gated_mlp = message.gated_mlp();
  layer.tied_embeddings = message.tied_embeddings();
  layer.linear_bias = message.linear_bias();
  layer.norm_bias = message.norm_bias();
  layer.qkv_bias = message.qkv_bias();
  layer.qk_norm = message.qk_norm();
  layer.no_mlp = message.no_mlp();
  TANGRAM_ASSIGN_OR_RETURN(layer.mixer, FromProto(message.mixer()));
  TANGRAM_ASSIGN_OR_RETURN(layer.mamba,
                           InField("mamba", FromProto(message.mamba())));
  if (layer.kind == LayerKind::kTransformer &&
      layer.mixer == MixerKind::kAttention) {
    TANGRAM_RETURN_IF_ERROR(
        FirstError({CheckPositive("num_heads", layer.num_heads, kMaxHeads),
                    CheckPositive("head_dim", layer.head_dim, kMaxHeadDim)}));
  }
  TANGRAM_RETURN_IF_ERROR(CheckLayerFits(layer));
  return layer;
}

absl::StatusOr<ModelSpec> FromProto(const v1::Model& message) {
  TANGRAM_RETURN_IF_ERROR(CheckLabel("name", message.name()));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<LayerSpec> types,
                           DecodeTypes(message.layer_types()));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<LayerRun> runs,
                           DecodeRuns("layers", message.layers(), types));
  ModelSpec model{.name = message.name()};
  for (const LayerRun& run : runs) {
    model.layers.insert(model.layers.end(), run.count, run.layer);
  }
  TANGRAM_RETURN_IF_ERROR(CheckLayersFit(model));
  TANGRAM_ASSIGN_OR_RETURN(model.details,
                           InField("details", FromProto(message.details())));
  return model;
}

absl::StatusOr<std::vector<ModelSlice>> FromProto(
    const v1::SliceList& message) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<LayerSpec> types,
                           DecodeTypes(message.layer_types()));
  std::vector<ModelSlice> slices;
  slices.reserve(message.slices_size());
  for (int i = 0; i < message.slices_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        ModelSlice slice,
        InField("slices", i, DecodeSlice(message.slices(i), types)));
    slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace tangram
