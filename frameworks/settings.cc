#include "frameworks/settings.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"

namespace tangram {
namespace {

// Plan files hold notes of up to 2,000 bytes.
constexpr size_t kMaxNoteLength = 1500;
constexpr size_t kMaxKeyLength = 60;

std::string ExpectedOf(const absl::AlphaNum& expected,
                       absl::string_view owner) {
  return absl::StrCat(expected, ", as in ", owner);
}

}  // namespace

std::optional<ConfigField> Settings::Find(absl::string_view key) {
  read_.emplace(key);
  return section_.Find(key);
}

absl::StatusOr<ConfigField> Settings::Require(absl::string_view key,
                                              absl::string_view expected) {
  read_.emplace(key);
  return section_.Require(key, expected);
}

absl::StatusOr<int> Settings::Int(absl::string_view key, int fallback) {
  const std::optional<ConfigField> field = Find(key);
  return field.has_value() ? field->AsInt(0, kMaxNumber)
                           : absl::StatusOr<int>(fallback);
}

absl::StatusOr<bool> Settings::Bool(absl::string_view key, bool fallback) {
  const std::optional<ConfigField> field = Find(key);
  return field.has_value() ? field->AsBool() : absl::StatusOr<bool>(fallback);
}

absl::Status Settings::CheckInt(absl::string_view key,
                                std::optional<int> fallback, int expected,
                                absl::string_view owner) {
  const std::optional<ConfigField> field = Find(key);
  if (!field.has_value()) {
    return fallback.value_or(expected) == expected
               ? absl::OkStatus()
               : section_.MissingError(key, ExpectedOf(expected, owner));
  }
  TANGRAM_ASSIGN_OR_RETURN(const int value, field->AsInt(0, kMaxNumber));
  return value == expected ? absl::OkStatus()
                           : field->Error(ExpectedOf(expected, owner));
}

absl::Status Settings::CheckBool(absl::string_view key, bool fallback,
                                 bool expected, absl::string_view owner) {
  const std::string wanted = ExpectedOf(expected ? "true" : "false", owner);
  const std::optional<ConfigField> field = Find(key);
  if (!field.has_value()) {
    return fallback == expected ? absl::OkStatus()
                                : section_.MissingError(key, wanted);
  }
  TANGRAM_ASSIGN_OR_RETURN(const bool value, field->AsBool());
  return value == expected ? absl::OkStatus() : field->Error(wanted);
}

std::vector<std::string> Settings::Unread() const {
  std::vector<std::string> unread;
  for (const std::string& key : section_.Keys()) {
    if (read_.contains(key)) continue;
    const std::optional<ConfigField> field = section_.Find(key);
    if (!field.has_value()) continue;  // null
    unread.push_back(absl::CEscape(
        absl::string_view(field->path()).substr(0, 2 * kMaxKeyLength)));
  }
  return unread;
}

void NoteNames(absl::string_view what, absl::Span<const std::string> names,
               std::vector<std::string>& notes) {
  std::string note;
  for (const std::string& name : names) {
    if (note.empty()) {
      note = absl::StrCat(what, " ", name);
    } else {
      absl::StrAppend(&note, ", ", name);
    }
    if (note.size() < kMaxNoteLength) continue;
    notes.push_back(std::move(note));
    note.clear();
  }
  if (!note.empty()) notes.push_back(std::move(note));
}

}  // namespace tangram
