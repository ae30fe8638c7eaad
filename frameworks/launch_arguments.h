#ifndef TANGRAM_FRAMEWORKS_LAUNCH_ARGUMENTS_H_
#define TANGRAM_FRAMEWORKS_LAUNCH_ARGUMENTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/config/config_field.h"

namespace tangram {

// The options with which Megatron-LM or FlagScale is launched. Names have
// neither leading dashes nor underscores. Options that Megatron-LM does not
// know, or that make another model or plan than ours can be, are errors, as is
// a flag with a value or an option without one.
//
// Reading an option marks it. Notes() lists the others, so none is dropped
// without a word. Errors are kInvalidArgument and name the option as the file
// does. Thread-compatible.
class LaunchArguments {
 public:
  // Parses the arguments of pretrain_gpt.py, or a command line with them, whose
  // words up to the program are skipped. Quotes, backslashes and comments are
  // the shell's.
  static absl::StatusOr<LaunchArguments> FromCommandLine(
      absl::string_view text, absl::string_view source);

  // Collects the settings of FlagScale's sections system, model and data, which
  // it passes on as options. false drops an option.
  static absl::StatusOr<LaunchArguments> FromYaml(const ConfigField& root);

  // All of these mark the option as read.
  bool Has(absl::string_view name);
  // Returns the value; `fallback` if the option is not given, and an error if
  // there is no fallback either.
  absl::StatusOr<int> Int(absl::string_view name, std::optional<int> fallback,
                          int min = 1);
  absl::StatusOr<double> Number(absl::string_view name, double fallback);
  absl::StatusOr<std::string> Text(absl::string_view name,
                                   absl::string_view fallback);
  // Like Text; a value must be one of `known`.
  absl::StatusOr<std::string> OneOf(absl::string_view name,
                                    absl::string_view fallback,
                                    absl::Span<const absl::string_view> known);
  // Returns all values; none if the option is not given.
  std::vector<std::string> Texts(absl::string_view name);
  absl::StatusOr<std::vector<int>> Ints(absl::string_view name, int min);

  // Returns "<file>: --seq-length: 4096; expected <expected>". The value of an
  // option that is not given is "missing".
  absl::Status Error(absl::string_view name, absl::string_view expected) const;
  // Returns the option as the file writes it: "--seq-length" or
  // "model.seq_length".
  std::string Field(absl::string_view name) const;

  // Returns notes that list the options which were not read, apart those
  // without effect on a plan.
  std::vector<std::string> Notes() const;

 private:
  struct Option {
    std::string field;  // For people.
    std::vector<std::string> values;
    bool has_effect = false;
    bool read = false;
  };

  LaunchArguments(absl::string_view source, bool is_yaml)
      : source_(source), is_yaml_(is_yaml) {}

  absl::Status AddMapping(const ConfigField& section, int depth);
  absl::Status AddSetting(const ConfigField& field, std::string name);
  // Checks the option against the table of Megatron-LM.
  absl::Status Add(std::string name, Option option);
  Option* Find(absl::string_view name);

  std::string source_;
  bool is_yaml_;
  std::map<std::string, Option, std::less<>> options_;
  std::vector<std::string> notes_;
};

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_LAUNCH_ARGUMENTS_H_
