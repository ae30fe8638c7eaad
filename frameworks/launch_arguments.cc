#include "frameworks/launch_arguments.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/megatron_option_table.h"
#include "frameworks/settings.h"

namespace tangram {
namespace {

// As much of a value as a message quotes.
constexpr size_t kMaxShownLength = 60;
// FlagScale's sections nest two or three deep.
constexpr int kMaxDepth = 16;

std::string Shown(absl::string_view text) {
  if (text.size() <= kMaxShownLength) return absl::Utf8SafeCEscape(text);
  return absl::StrCat(absl::CEscape(text.substr(0, kMaxShownLength)), "...");
}

// Splits text into words as a shell does, without expanding anything.
class ShellWords {
 public:
  explicit ShellWords(absl::string_view text) : text_(text) {}

  // Returns the next word; nullopt at the end and in an open quotation.
  std::optional<std::string> Next() {
    SkipBlanks();
    if (text_.empty()) return std::nullopt;
    std::string word;
    while (!text_.empty() && !absl::ascii_isspace(text_.front())) {
      const char c = Take();
      if (c == '\\') {
        if (!text_.empty()) AppendEscaped(word);
      } else if (c == '\'' || c == '"') {
        const size_t end = text_.find(c);
        if (end == absl::string_view::npos) {
          unclosed_ = true;
          return std::nullopt;
        }
        absl::StrAppend(&word, text_.substr(0, end));
        text_.remove_prefix(end + 1);
      } else {
        word += c;
      }
    }
    return word;
  }

  bool unclosed() const { return unclosed_; }

 private:
  char Take() {
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }

  // A backslash before a line end joins lines; elsewhere it quotes.
  void AppendEscaped(std::string& word) {
    const char c = Take();
    if (c != '\n' && c != '\r') word += c;
  }

  // Skips white space, joined lines and comments.
  void SkipBlanks() {
    while (!text_.empty()) {
      if (absl::ascii_isspace(text_.front())) {
        Take();
      } else if (absl::ConsumePrefix(&text_, "\\\n") ||
                 absl::ConsumePrefix(&text_, "\\\r\n")) {
        continue;
      } else if (text_.front() == '#') {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else {
        return;
      }
    }
  }

  absl::string_view text_;
  bool unclosed_ = false;
};

absl::StatusOr<std::vector<std::string>> SplitWords(absl::string_view text,
                                                    absl::string_view source) {
  ShellWords split(text);
  std::vector<std::string> words;
  while (std::optional<std::string> word = split.Next()) {
    words.push_back(*std::move(word));
  }
  if (split.unclosed()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": a quotation does not end; expected a closing quote"));
  }
  if (words.empty() || absl::StartsWith(words.front(), "--")) return words;
  const auto program = absl::c_find_if(words, [](const std::string& word) {
    return absl::EndsWith(word, ".py");
  });
  if (program == words.end()) {
    return FieldError(source, Shown(words.front()),
                      "options, or a command with pretrain_gpt.py");
  }
  words.erase(words.begin(), program + 1);
  return words;
}

}  // namespace

absl::StatusOr<LaunchArguments> LaunchArguments::FromCommandLine(
    absl::string_view text, absl::string_view source) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> words,
                           SplitWords(text, source));
  LaunchArguments arguments(source, /*is_yaml=*/false);
  for (size_t i = 0; i < words.size();) {
    absl::string_view word = words[i++];
    if (!absl::ConsumePrefix(&word, "--")) {
      return FieldError(source, Shown(word),
                        "an option of Megatron-LM, which begins with --");
    }
    const size_t equals = word.find('=');
    std::string name(word.substr(0, equals));
    Option option{.field = absl::StrCat("--", name)};
    if (equals != absl::string_view::npos) {
      option.values.emplace_back(word.substr(equals + 1));
    } else {
      while (i < words.size() && !absl::StartsWith(words[i], "--")) {
        option.values.push_back(words[i++]);
      }
    }
    TANGRAM_RETURN_IF_ERROR(arguments.Add(std::move(name), std::move(option)));
  }
  return arguments;
}

absl::StatusOr<LaunchArguments> LaunchArguments::FromYaml(
    const ConfigField& root) {
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  LaunchArguments arguments(root.source_name(), /*is_yaml=*/true);
  for (const char* key : {"system", "model", "data"}) {
    TANGRAM_ASSIGN_OR_RETURN(
        const ConfigField section,
        root.Require(key, "sections system, model and data"));
    TANGRAM_RETURN_IF_ERROR(arguments.AddMapping(section, /*depth=*/0));
  }
  std::vector<std::string> others;
  for (const std::string& key : root.Keys()) {
    if (key != "system" && key != "model" && key != "data") {
      others.push_back(Shown(key));
    }
  }
  NoteNames("not read, as FlagScale does not pass it on:", others,
            arguments.notes_);
  return arguments;
}

absl::Status LaunchArguments::AddMapping(const ConfigField& section,
                                         int depth) {
  TANGRAM_RETURN_IF_ERROR(section.CheckMapping());
  if (depth > kMaxDepth) return section.Error("fewer sections in sections");
  for (const std::string& key : section.Keys()) {
    const std::optional<ConfigField> field = section.Find(key);
    if (!field.has_value()) continue;
    if (field->is_mapping()) {
      TANGRAM_RETURN_IF_ERROR(AddMapping(*field, depth + 1));
      continue;
    }
    // Places of logs, which FlagScale keeps for itself.
    if (key == "log_dir" || key == "details_dir" || key == "scripts_dir" ||
        key == "pids_dir") {
      continue;
    }
    TANGRAM_RETURN_IF_ERROR(
        AddSetting(*field, absl::StrReplaceAll(key, {{"_", "-"}})));
  }
  return absl::OkStatus();
}

absl::Status LaunchArguments::AddSetting(const ConfigField& field,
                                         std::string name) {
  Option option{.field = field.path()};
  if (field.is_sequence()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                             field.Elements());
    for (const ConfigField& element : elements) {
      if (!element.is_sequence()) {
        TANGRAM_ASSIGN_OR_RETURN(option.values.emplace_back(),
                                 element.AsNote());
        continue;
      }
      TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> numbers,
                               AsInts(element, /*min=*/0));
      option.values.push_back(
          absl::StrCat("[", absl::StrJoin(numbers, ", "), "]"));
    }
    if (option.values.empty()) return field.Error("at least one value");
    return Add(std::move(name), std::move(option));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::string value, field.AsNote());
  const absl::StatusOr<bool> truth = field.AsBool();
  if (truth.ok() && !*truth) return absl::OkStatus();
  // A reference to another file, which matters only to options with effect.
  const std::optional<MegatronOptionKind> kind = FindMegatronOption(name);
  const bool is_idle_reference = absl::StartsWith(value, "${") &&
                                 kind.has_value() &&
                                 kind->values == OptionValues::kNone &&
                                 kind->effect == OptionEffect::kNone;
  if (!truth.ok() && !is_idle_reference) option.values.push_back(value);
  return Add(std::move(name), std::move(option));
}

absl::Status LaunchArguments::Add(std::string name, Option option) {
  const std::string field = absl::StrCat(source_, ": ", Shown(option.field));
  const std::optional<MegatronOptionKind> kind = FindMegatronOption(name);
  if (!kind.has_value()) {
    const absl::string_view nearest = NearestMegatronOption(name);
    return absl::InvalidArgumentError(absl::StrCat(
        field, ": unknown option; ",
        nearest.empty() ? "expected one of Megatron-LM"
                        : absl::StrCat("did you mean ", nearest, "?")));
  }
  const size_t count = option.values.size();
  const std::string shown = Shown(absl::StrJoin(option.values, " "));
  if (kind->values == OptionValues::kNone && count > 0) {
    return FieldError(field, shown, "no value, as it is a flag");
  }
  if (kind->values == OptionValues::kOne && count != 1) {
    return FieldError(field, count == 0 ? "no value" : shown, "one value");
  }
  if (kind->values == OptionValues::kSome && count == 0) {
    return FieldError(field, "no value", "at least one value");
  }
  if (kind->effect == OptionEffect::kRefused) {
    if (count == 1 && !kind->neutral.empty() && kind->neutral == shown) {
      return absl::OkStatus();
    }
    return FieldError(
        field, count == 0 ? "given" : shown,
        kind->neutral.empty()
            ? "no such option, as plans cannot hold it"
            : absl::StrCat(kind->neutral, ", as plans cannot hold another"));
  }
  option.has_effect = kind->effect == OptionEffect::kPlan;
  options_[std::move(name)] = std::move(option);  // The last counts.
  return absl::OkStatus();
}

LaunchArguments::Option* LaunchArguments::Find(absl::string_view name) {
  const auto found = options_.find(name);
  if (found == options_.end()) return nullptr;
  found->second.read = true;
  return &found->second;
}

bool LaunchArguments::Has(absl::string_view name) {
  return Find(name) != nullptr;
}

absl::StatusOr<int> LaunchArguments::Int(absl::string_view name,
                                         std::optional<int> fallback, int min) {
  const Option* option = Find(name);
  if (option == nullptr && fallback.has_value()) return *fallback;
  int value = 0;
  if (option != nullptr && option->values.size() == 1 &&
      absl::SimpleAtoi(option->values.front(), &value) && value >= min &&
      value <= kMaxNumber) {
    return value;
  }
  return Error(name, min > 0 ? "a positive integer" : "a non-negative integer");
}

absl::StatusOr<double> LaunchArguments::Number(absl::string_view name,
                                               double fallback) {
  const Option* option = Find(name);
  if (option == nullptr) return fallback;
  double value = 0;
  if (option->values.size() == 1 &&
      absl::SimpleAtod(option->values.front(), &value) && value >= 0) {
    return value;
  }
  return Error(name, "a number of at least 0");
}

absl::StatusOr<std::string> LaunchArguments::Text(absl::string_view name,
                                                  absl::string_view fallback) {
  const Option* option = Find(name);
  if (option == nullptr) return std::string(fallback);
  if (option->values.size() == 1) return option->values.front();
  return Error(name, "one value");
}

absl::StatusOr<std::string> LaunchArguments::OneOf(
    absl::string_view name, absl::string_view fallback,
    absl::Span<const absl::string_view> known) {
  TANGRAM_ASSIGN_OR_RETURN(std::string value, Text(name, fallback));
  if (value == fallback || absl::c_linear_search(known, value)) return value;
  return Error(name, absl::StrCat("one of ", absl::StrJoin(known, ", ")));
}

std::vector<std::string> LaunchArguments::Texts(absl::string_view name) {
  const Option* option = Find(name);
  return option == nullptr ? std::vector<std::string>() : option->values;
}

absl::StatusOr<std::vector<int>> LaunchArguments::Ints(absl::string_view name,
                                                       int min) {
  std::vector<int> numbers;
  for (const std::string& text : Texts(name)) {
    int value = 0;
    if (!absl::SimpleAtoi(text, &value) || value < min || value > kMaxNumber) {
      return Error(name, absl::StrCat("integers of at least ", min));
    }
    numbers.push_back(value);
  }
  return numbers;
}

absl::Status LaunchArguments::Error(absl::string_view name,
                                    absl::string_view expected) const {
  const auto found = options_.find(name);
  const std::string value =
      found == options_.end() ? "missing"
      : found->second.values.empty()
          ? "given"
          : Shown(absl::StrJoin(found->second.values, " "));
  return FieldError(absl::StrCat(source_, ": ", Shown(Field(name))), value,
                    expected);
}

std::string LaunchArguments::Field(absl::string_view name) const {
  const auto found = options_.find(name);
  if (found != options_.end()) return found->second.field;
  if (is_yaml_) return absl::StrReplaceAll(name, {{"-", "_"}});
  return absl::StrCat("--", name);
}

std::vector<std::string> LaunchArguments::Notes() const {
  std::vector<std::string> unread;
  std::vector<std::string> without_effect;
  for (const auto& [name, option] : options_) {
    if (option.read) continue;
    if (!option.has_effect) {
      without_effect.push_back(Shown(option.field));
      continue;
    }
    const std::string values = absl::StrJoin(option.values, " ");
    unread.push_back(absl::StrCat(Shown(option.field),
                                  values.empty() ? "" : " ", Shown(values)));
  }
  std::vector<std::string> notes = notes_;
  NoteNames("not read, though it may change time or memory:", unread, notes);
  NoteNames("without effect on time and memory:", without_effect, notes);
  return notes;
}

}  // namespace tangram
