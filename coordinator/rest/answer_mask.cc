#include "coordinator/rest/answer_mask.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace tangram {
namespace {

namespace pb = google::protobuf;
// Keeps the order of fields.
using OrderedJson = nlohmann::ordered_json;

// Returns the field of a list that holds its elements; null: `type` is none.
const pb::FieldDescriptor* ElementsOf(const pb::Descriptor& type) {
  if (type.FindFieldByName("next_page_token") == nullptr) return nullptr;
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor* field = type.field(i);
    if (field->is_repeated() && field->message_type() != nullptr) return field;
  }
  return nullptr;
}

void Prune(const AnswerMask& mask, OrderedJson& object) {
  if (!object.is_object()) return;
  // The paths behind each field.
  std::map<std::string, AnswerMask> kept;
  for (const std::string& path : mask) {
    const size_t dot = path.find('.');
    AnswerMask& behind = kept[path.substr(0, dot)];
    behind.push_back(dot == std::string::npos ? "*" : path.substr(dot + 1));
  }
  OrderedJson pruned = OrderedJson::object();
  for (auto& [name, value] : object.items()) {
    const auto it = kept.find(name);
    if (it == kept.end()) continue;
    if (!absl::c_linear_search(it->second, "*")) Prune(it->second, value);
    pruned[name] = std::move(value);
  }
  object = std::move(pruned);
}

}  // namespace

AnswerMask ReadMaskOf(const HttpRule& rule, absl::string_view request) {
  const pb::Descriptor* type = MethodOf(rule)->input_type();
  const pb::FieldDescriptor* field = type->FindFieldByName("read_mask");
  if (field == nullptr || field->message_type() == nullptr) return {};
  const std::unique_ptr<pb::Message> message(
      pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
  pb::FieldMask mask;
  if (!message->ParseFromArray(request.data(),
                               static_cast<int>(request.size())) ||
      !mask.ParseFromString(message->GetReflection()
                                ->GetMessage(*message, field)
                                .SerializeAsString()) ||
      absl::c_linear_search(mask.paths(), "*")) {
    return {};
  }
  return {mask.paths().begin(), mask.paths().end()};
}

std::string Masked(const HttpRule& rule, const AnswerMask& mask,
                   std::string json) {
  if (mask.empty()) return json;
  OrderedJson answer =
      OrderedJson::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return json;
  const pb::FieldDescriptor* elements =
      ElementsOf(*MethodOf(rule)->output_type());
  if (elements == nullptr) {
    Prune(mask, answer);
  } else {
    for (OrderedJson& element : answer[elements->name()]) Prune(mask, element);
  }
  return answer.dump();
}

}  // namespace tangram
