#include "formats/config/config_field.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "formats/config/nearest_name.h"

namespace tangram {
namespace {

// Names and notes of files fit the limits of messages (common/domain/limits.h):
// half of each, because planning adds to them.
constexpr size_t kMaxNameLength = 128;
constexpr size_t kMaxNoteLength = 2000;
// As much of a bad value as an error message quotes.
constexpr size_t kMaxShownLength = 60;

// Escapes and shortens untrusted text for a message.
std::string Shown(absl::string_view text) {
  if (text.size() <= kMaxShownLength) return absl::Utf8SafeCEscape(text);
  return absl::StrCat(absl::CEscape(text.substr(0, kMaxShownLength)), "...");
}

std::string Describe(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return "nothing";
    case ConfigValue::Kind::kScalar:
      return value.scalar.empty() ? "\"\"" : Shown(value.scalar);
    case ConfigValue::Kind::kSequence:
      return "a list";
    case ConfigValue::Kind::kMapping:
      return "a mapping";
  }
  return "";
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
}

std::string ExpectedInt(int min) {
  if (min == 0) return "a non-negative integer";
  if (min == 1) return "a positive integer";
  return absl::StrCat("an integer of at least ", min);
}

}  // namespace

std::string ConfigField::PathOf(absl::string_view key) const {
  return path_.empty() ? Shown(key) : absl::StrCat(path_, ".", Shown(key));
}

absl::Status ConfigField::ErrorAt(absl::string_view path,
                                  absl::string_view what) const {
  return absl::InvalidArgumentError(
      path.empty() ? absl::StrCat(source_name_, ": ", what)
                   : absl::StrCat(source_name_, ": ", path, ": ", what));
}

absl::Status ConfigField::Error(absl::string_view expected) const {
  return ErrorAt(path_,
                 absl::StrCat(Describe(*value_), "; expected ", expected));
}

absl::Status ConfigField::MissingError(absl::string_view key,
                                       absl::string_view expected) const {
  return ErrorAt(PathOf(key), absl::StrCat("missing; expected ", expected));
}

std::optional<ConfigField> ConfigField::Find(absl::string_view key) const {
  for (size_t i = 0; i < value_->keys.size(); ++i) {
    if (value_->keys[i] != key) continue;
    const ConfigValue& value = value_->items[i];
    if (value.kind == ConfigValue::Kind::kNull) return std::nullopt;
    return ConfigField(value, source_name_, PathOf(key));
  }
  return std::nullopt;
}

absl::StatusOr<ConfigField> ConfigField::Require(
    absl::string_view key, absl::string_view expected) const {
  std::optional<ConfigField> field = Find(key);
  if (!field.has_value()) return MissingError(key, expected);
  return *std::move(field);
}

absl::Status ConfigField::CheckMapping() const {
  if (!is_mapping()) return Error("a mapping");
  absl::flat_hash_set<absl::string_view> seen;
  for (const std::string& key : value_->keys) {
    if (!seen.insert(key).second) {
      return ErrorAt(PathOf(key), "given twice; expected it once");
    }
  }
  return absl::OkStatus();
}

absl::Status ConfigField::CheckKeys(
    absl::Span<const absl::string_view> known) const {
  TANGRAM_RETURN_IF_ERROR(CheckMapping());
  for (const std::string& key : value_->keys) {
    if (absl::c_linear_search(known, key)) continue;
    const absl::string_view nearest = NearestName(key, known);
    return ErrorAt(
        PathOf(key),
        nearest.empty()
            ? absl::StrCat("unknown key; expected one of ",
                           absl::StrJoin(known, ", "))
            : absl::StrCat("unknown key; did you mean ", nearest, "?"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ConfigField>> ConfigField::Elements() const {
  if (!IsKind(ConfigValue::Kind::kSequence)) return Error("a list");
  std::vector<ConfigField> elements;
  elements.reserve(value_->items.size());
  for (size_t i = 0; i < value_->items.size(); ++i) {
    elements.push_back(ConfigField(value_->items[i], source_name_,
                                   absl::StrCat(path_, "[", i, "]")));
  }
  return elements;
}

absl::StatusOr<std::string> ConfigField::AsText() const {
  const std::string& text = value_->scalar;
  if (text.empty() || text.size() > kMaxNameLength) {
    return Error(absl::StrCat("a text of 1 to ", kMaxNameLength, " bytes"));
  }
  if (!IsPrintable(text)) return Error("a text without control characters");
  return text;
}

absl::StatusOr<std::string> ConfigField::AsNote() const {
  if (!IsKind(ConfigValue::Kind::kScalar) ||
      value_->scalar.size() > kMaxNoteLength) {
    return Error(absl::StrCat("a text of at most ", kMaxNoteLength, " bytes"));
  }
  return value_->scalar;
}

absl::StatusOr<std::string> ConfigField::AsName() const {
  const std::string& text = value_->scalar;
  if (text.empty() || text.size() > kMaxNameLength ||
      !absl::c_all_of(text, IsNameCharacter)) {
    return Error("a name of letters, digits, '.', '_' and '-'");
  }
  return text;
}

absl::StatusOr<bool> ConfigField::AsBool() const {
  if (value_->scalar == "true" || value_->scalar == "True") return true;
  if (value_->scalar == "false" || value_->scalar == "False") return false;
  return Error("true or false");
}

absl::StatusOr<int> ConfigField::AsInt(int min, int max) const {
  int value = 0;
  const bool is_int = absl::SimpleAtoi(value_->scalar, &value);
  if (is_int && value >= min && value <= max) return value;
  double number = 0;
  const bool too_large =
      absl::SimpleAtod(value_->scalar, &number) && number > max;
  return Error(too_large ? absl::StrCat(ExpectedInt(min), ", at most ", max)
                         : ExpectedInt(min));
}

absl::StatusOr<double> ConfigField::AsNumber(double min, double max) const {
  double value = 0;
  if (absl::SimpleAtod(value_->scalar, &value) && value >= min &&
      value <= max) {
    return value;
  }
  return Error(absl::StrCat("a number from ", min, " to ", max));
}

absl::StatusOr<double> ConfigField::AsQuantity(Dimension dimension,
                                               double plain_scale) const {
  const std::optional<double> value =
      ParseQuantity(value_->scalar, dimension, plain_scale);
  if (!value.has_value()) return Error(ExpectedQuantity(dimension));
  return *value;
}

absl::StatusOr<bool> ReadFlag(const ConfigField& parent, absl::string_view key,
                              bool fallback) {
  return ReadOr(parent, key, fallback,
                [](const ConfigField& field) { return field.AsBool(); });
}

absl::StatusOr<int> ReadInt(const ConfigField& parent, absl::string_view key,
                            int fallback, int min, int max) {
  return ReadOr(parent, key, fallback, [min, max](const ConfigField& field) {
    return field.AsInt(min, max);
  });
}

absl::StatusOr<int> RequireInt(const ConfigField& parent, absl::string_view key,
                               int max) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           parent.Require(key, "a positive integer"));
  return field.AsInt(1, max);
}

KeyList Join(KeyList keys, absl::Span<const absl::string_view> more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

}  // namespace tangram
