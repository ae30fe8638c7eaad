#ifndef TANGRAM_TESTS_UNIT_COMMON_WIRE_EVERY_FIELD_H_
#define TANGRAM_TESTS_UNIT_COMMON_WIRE_EVERY_FIELD_H_

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "tests/testing/messages/mutate_message.h"

// Tests that no field of a message is lost between decoding and encoding. Finds
// fields by reflection, so new fields are covered.
namespace tangram::testing {

// Adds the paths of all scalar values of a type, e.g. "nodes.name".
inline void AddValuePaths(const google::protobuf::Descriptor& type,
                          const std::string& prefix,
                          std::set<std::string>& paths) {
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.name());
    if (field.message_type() != nullptr) {
      AddValuePaths(*field.message_type(), path + ".", paths);
    } else {
      paths.insert(path);
    }
  }
}

// Turns "nodes[3].name (dropped)" into "nodes.name".
inline std::string WithoutIndices(const std::string& path) {
  std::string out;
  bool is_index = false;
  for (const char c : path) {
    if (c == ' ') break;
    if (c == '[') is_index = true;
    if (!is_index) out.push_back(c);
    if (c == ']') is_index = false;
  }
  return out;
}

// Returns the paths of the values whose changes `again` never preserves.
// `again` decodes a message and encodes the result; it returns an
// absl::StatusOr<Message>. `sample` makes a good message from a seed.
template <typename Message, typename Sample, typename Again>
std::set<std::string> LostFields(const Sample& sample, const Again& again) {
  constexpr uint32_t kSamples = 150;
  constexpr int kChanges = 150;  // Per sample.
  std::set<std::string> lost;
  AddValuePaths(*Message::descriptor(), "", lost);
  for (uint32_t seed = 0; seed < kSamples && !lost.empty(); ++seed) {
    std::mt19937 rng(seed);
    const Message message = sample(seed);
    const auto before = again(message);
    if (!before.ok()) return {std::string(before.status().message())};
    const std::string bytes = before->SerializeAsString();
    for (int i = 0; i < kChanges; ++i) {
      Message changed = message;
      const std::string path = WithoutIndices(MutateMessage(rng, changed));
      if (lost.count(path) == 0) continue;
      const auto after = again(changed);
      if (after.ok() && after->SerializeAsString() != bytes) lost.erase(path);
    }
  }
  return lost;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COMMON_WIRE_EVERY_FIELD_H_
