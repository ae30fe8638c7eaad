#ifndef TANGRAM_FRAMEWORKS_SETTINGS_H_
#define TANGRAM_FRAMEWORKS_SETTINGS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/config/config_field.h"

namespace tangram {

// The settings of a mapping in a file. Finding one marks it, so that the others
// can be noted: frameworks drop unknown settings of such files without a word.
// Keeps a reference to the value of the field. Thread-compatible.
class Settings {
 public:
  explicit Settings(ConfigField section) : section_(std::move(section)) {}

  std::optional<ConfigField> Find(absl::string_view key);
  absl::StatusOr<ConfigField> Require(absl::string_view key,
                                      absl::string_view expected);
  // Returns the value; `fallback` if it is not given.
  absl::StatusOr<int> Int(absl::string_view key, int fallback);
  absl::StatusOr<bool> Bool(absl::string_view key, bool fallback);

  // Requires a setting to have `expected`, which is that of `owner`. Without
  // the setting it is `fallback`, or not compared.
  absl::Status CheckInt(absl::string_view key, std::optional<int> fallback,
                        int expected, absl::string_view owner);
  absl::Status CheckBool(absl::string_view key, bool fallback, bool expected,
                         absl::string_view owner);

  // Returns the paths of the settings that nothing asked for.
  std::vector<std::string> Unread() const;

 private:
  ConfigField section_;
  std::set<std::string, std::less<>> read_;
};

// Adds "<what> a, b, c" in as many notes as the length needs.
void NoteNames(absl::string_view what, absl::Span<const std::string> names,
               std::vector<std::string>& notes);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_SETTINGS_H_
