#ifndef TANGRAM_FORMATS_CONFIG_CONFIG_FIELD_H_
#define TANGRAM_FORMATS_CONFIG_CONFIG_FIELD_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/config/document.h"
#include "formats/config/units.h"

namespace tangram {

// A value with its place in the file, for typed reading. Errors name file,
// field, value and what was expected:
//   c1.yaml: groups[1].gpus_per_node: 0; expected a positive integer
// The field refers to the value, which must outlive it. All errors are
// kInvalidArgument.
class ConfigField {
 public:
  // The root of a file.
  ConfigField(const ConfigValue& value, std::string source_name)
      : ConfigField(value, std::move(source_name), "") {}

  const std::string& path() const { return path_; }  // "groups[1].memory"
  const std::string& source_name() const { return source_name_; }
  bool is_mapping() const { return IsKind(ConfigValue::Kind::kMapping); }
  bool is_sequence() const { return IsKind(ConfigValue::Kind::kSequence); }
  absl::Span<const std::string> Keys() const { return value_->keys; }

  // Returns the value of a key of a mapping. A key without a value ("memory:"
  // or null) counts as not given.
  std::optional<ConfigField> Find(absl::string_view key) const;
  absl::StatusOr<ConfigField> Require(absl::string_view key,
                                      absl::string_view expected) const;
  // OK if this is a mapping with only keys of `known`, each at most once.
  absl::Status CheckKeys(absl::Span<const absl::string_view> known) const;
  absl::Status CheckMapping() const;

  // Returns the elements of a sequence; an error for anything else.
  absl::StatusOr<std::vector<ConfigField>> Elements() const;

  absl::StatusOr<std::string> AsText() const;  // 1 to 128 printable bytes.
  absl::StatusOr<std::string> AsNote() const;  // At most 2,000 bytes.
  // A name of letters, digits, '.', '_' and '-', since names appear in messages
  // and on command lines.
  absl::StatusOr<std::string> AsName() const;
  absl::StatusOr<bool> AsBool() const;
  // Numbers from `min` to `max`, both included.
  absl::StatusOr<int> AsInt(int min, int max) const;
  absl::StatusOr<double> AsNumber(double min, double max) const;
  // A number with or without a unit, in SI base units; see ParseQuantity.
  absl::StatusOr<double> AsQuantity(Dimension dimension,
                                    double plain_scale = 1) const;

  // Returns "<file>: <path>: <value>; expected <expected>".
  absl::Status Error(absl::string_view expected) const;
  // The same for a missing `key` of this mapping.
  absl::Status MissingError(absl::string_view key,
                            absl::string_view expected) const;

 private:
  ConfigField(const ConfigValue& value, std::string source_name,
              std::string path)
      : value_(&value),
        source_name_(std::move(source_name)),
        path_(std::move(path)) {}

  bool IsKind(ConfigValue::Kind kind) const { return value_->kind == kind; }
  std::string PathOf(absl::string_view key) const;
  absl::Status ErrorAt(absl::string_view path, absl::string_view what) const;

  const ConfigValue* value_;
  std::string source_name_;
  std::string path_;
};

// Reads the optional field `key` of `parent` with `read` (a ConfigField in, a
// StatusOr out). Returns `fallback` if it is not given:
//   ReadOr(group, "gpus_per_node", 8,
//          [](const ConfigField& f) { return f.AsInt(1, kMax); })
template <typename T, typename Read>
absl::StatusOr<T> ReadOr(const ConfigField& parent, absl::string_view key,
                         T fallback, Read read) {
  const std::optional<ConfigField> field = parent.Find(key);
  if (!field.has_value()) return fallback;
  return read(*field);
}

// ReadOr for a flag and for an integer from `min` to `max`.
absl::StatusOr<bool> ReadFlag(const ConfigField& parent, absl::string_view key,
                              bool fallback = false);
absl::StatusOr<int> ReadInt(const ConfigField& parent, absl::string_view key,
                            int fallback, int min, int max);
// Reads the integer from 1 to `max` that must be there.
absl::StatusOr<int> RequireInt(const ConfigField& parent, absl::string_view key,
                               int max);

using KeyList = std::vector<absl::string_view>;

// Returns `keys` followed by `more`.
KeyList Join(KeyList keys, absl::Span<const absl::string_view> more);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_CONFIG_FIELD_H_
