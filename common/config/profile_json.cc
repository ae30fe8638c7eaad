#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/profile_file.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// What is not UTF-8 is replaced, where dump() alone would throw.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Where layers have experts: the first, and every how many from there on.
void AddExperts(const ModelSpec& model, Json& json) {
  int first = -1;
  int every = 1;
  for (int i = model.num_layers() - 2; i >= 1; --i) {
    if (!model.layers[i].is_moe()) continue;
    if (first > 0) every = first - i;
    first = i;
  }
  if (first < 0) return;
  const LayerSpec& layer = model.layers[first];
  json["experts"] = {
      {"count", layer.num_experts},
      {"per_token", layer.experts_per_token},
      {"ffn_hidden_size", layer.expert_ffn_hidden_size},
      {"shared_ffn_hidden_size", layer.shared_expert_ffn_hidden_size},
      {"first_layer", first - 1},
      {"every", every}};
}

Json ToJson(const ModelSpec& model) {
  const LayerSpec& embedding = model.layers.front();
  const LayerSpec& layer = model.layers[1];
  int ffn_hidden_size = 0;
  for (const LayerSpec& each : model.layers) {
    if (each.ffn_hidden_size > 0) ffn_hidden_size = each.ffn_hidden_size;
  }
  Json json = {{"name", model.name},
               {"layers", model.num_layers() - 2},
               {"hidden_size", layer.hidden_size},
               {"heads", layer.num_heads},
               {"kv_heads", layer.num_kv_heads},
               {"head_dim", layer.head_dim},
               {"sliding_window", layer.sliding_window}};
  if (layer.kv_lora_rank > 0) {
    json["latent_attention"] = {{"q_rank", layer.q_lora_rank},
                                {"kv_rank", layer.kv_lora_rank},
                                {"rope_head_dim", layer.rope_head_dim},
                                {"value_head_dim", layer.value_head_dim}};
  }
  if (ffn_hidden_size > 0) json["ffn_hidden_size"] = ffn_hidden_size;
  json["gated_mlp"] = layer.gated_mlp;
  AddExperts(model, json);
  json["vocab_size"] = embedding.vocab_size;
  json["max_positions"] = embedding.max_position_embeddings;
  json["tied_embeddings"] = embedding.tied_embeddings;
  json["bias"] = layer.linear_bias ? "all" : layer.qkv_bias ? "qkv" : "none";
  json["norm_bias"] = layer.norm_bias;
  json["qk_norm"] = layer.qk_norm;
  return json;
}

absl::string_view KindName(LayerKind kind) {
  switch (kind) {
    case LayerKind::kEmbedding:
      return "embedding";
    case LayerKind::kTransformer:
      return "transformer";
    case LayerKind::kHead:
      return "head";
  }
  return "";
}

Json ToJson(const ProfilePoint& point) {
  Json json = {{"samples", point.samples},
               {"forward_s", point.forward_s},
               {"backward_s", point.backward_s}};
  if (point.saved_bytes) json["saved_bytes"] = *point.saved_bytes;
  return json;
}

Json ToJson(const Profile& profile, const ProfileEntry& entry) {
  const LayerKind kind = LayerOf(profile, entry).kind;
  const StageParallelism& p = entry.parallelism;
  Json json = {{"model", profile.models[entry.model].name}};
  if (entry.op.has_value()) {
    json["op"] = OpName(*entry.op);
  } else {
    json["kind"] = std::string(KindName(kind));
  }
  if (kind == LayerKind::kTransformer) json["layer"] = entry.layer - 1;
  json["precision"] = std::string(PrecisionName(entry.precision));
  json["sequence_length"] = entry.sequence_length;
  json["tp"] = p.tp_degree;
  if (p.cp_degree > 1) json["cp"] = p.cp_degree;
  if (p.ep_degree > 1) json["ep"] = p.ep_degree;
  if (p.sequence_parallel) json["sequence_parallel"] = true;
  if (entry.flash_attention) json["flash_attention"] = true;
  if (!entry.op.has_value()) {
    json["collectives_included"] = entry.collectives_included;
  }
  for (const ProfilePoint& point : entry.points) {
    json["points"].push_back(ToJson(point));
  }
  if (entry.optimizer_s) json["optimizer_s"] = *entry.optimizer_s;
  if (entry.state_bytes) json["state_bytes"] = *entry.state_bytes;
  return json;
}

Json ToJson(const ProfiledGemm& gemm) {
  return {{"m", gemm.m},
          {"k", gemm.k},
          {"n", gemm.n},
          {"precision", std::string(PrecisionName(gemm.precision))},
          {"seconds", gemm.seconds}};
}

Json ToJson(const MeasuredCollective& table) {
  Json json;
  if (table.op != CollectiveOp::kPointToPoint) {
    json["op"] = std::string(CollectiveName(table.op));
    json["ranks"] = table.ranks;
  }
  json["nodes"] = table.nodes;
  for (const CollectivePoint& point : table.points) {
    json["points"].push_back(
        {{"bytes", point.bytes}, {"seconds", point.seconds}});
  }
  return json;
}

Json ToJson(const ProfileLink& measured) {
  Json json;
  if (!measured.to.empty()) json["to"] = measured.to;
  json["bandwidth_bytes_per_s"] = measured.link.bandwidth_bytes_per_s;
  json["pair_bandwidth_bytes_per_s"] = measured.link.pair_bandwidth_bytes_per_s;
  json["latency_s"] = measured.link.latency_s;
  return json;
}

// A key of the top level and its value, a list with an element a line.
void AddList(const char* key, const std::vector<Json>& elements,
             std::vector<std::string>& members) {
  if (elements.empty()) return;
  members.push_back(
      absl::StrCat("\"", key, "\": [\n    ",
                   absl::StrJoin(elements, ",\n    ",
                                 [](std::string* out, const Json& element) {
                                   out->append(Dump(element));
                                 }),
                   "]"));
}

void AddText(const char* key, const std::string& text,
             std::vector<std::string>& members) {
  if (text.empty()) return;
  members.push_back(absl::StrCat("\"", key, "\": ", Dump(text)));
}

}  // namespace

std::string ProfileToJson(const Profile& profile) {
  std::vector<std::string> members = {"\"tangram_profile\": 1"};
  AddText("device", profile.device, members);
  AddText("source", profile.source, members);
  AddText("framework", profile.framework, members);
  std::vector<Json> models, layers, operators, gemms, collectives, p2p, links;
  for (const ModelSpec& model : profile.models) models.push_back(ToJson(model));
  for (const ProfileEntry& entry : profile.entries) {
    (entry.op.has_value() ? operators : layers)
        .push_back(ToJson(profile, entry));
  }
  for (const ProfiledGemm& gemm : profile.gemms) gemms.push_back(ToJson(gemm));
  for (const MeasuredCollective& table : profile.collectives) {
    (table.op == CollectiveOp::kPointToPoint ? p2p : collectives)
        .push_back(ToJson(table));
  }
  for (const ProfileLink& link : profile.links) links.push_back(ToJson(link));
  AddList("models", models, members);
  AddList("layers", layers, members);
  AddList("operators", operators, members);
  AddList("gemms", gemms, members);
  AddList("collectives", collectives, members);
  AddList("p2p", p2p, members);
  AddList("links", links, members);
  if (profile.context_bytes.has_value()) {
    members.push_back(absl::StrCat(
        "\"memory\": {\"context_bytes\": ", Dump(*profile.context_bytes), "}"));
  }
  return absl::StrCat("{\n  ", absl::StrJoin(members, ",\n  "), "\n}\n");
}

}  // namespace tangram
