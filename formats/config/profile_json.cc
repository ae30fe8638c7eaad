#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/config/model_json.h"
#include "formats/config/profile_file.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// Replaces bytes that are not UTF-8; dump() alone would throw.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
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
  if (p.tp_y_degree > 1) json["tp_y"] = p.tp_y_degree;
  if (p.cp_degree > 1) json["cp"] = p.cp_degree;
  if (p.ep_degree > 1) json["ep"] = p.ep_degree;
  if (p.fsep) json["fsep"] = true;
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

// Adds a top-level key with its list, one element a line.
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
  for (const ModelSpec& model : profile.models)
    models.push_back(ModelToJson(model));
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
