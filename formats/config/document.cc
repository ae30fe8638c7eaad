#include "formats/config/document.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <istream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/text_file.h"

namespace tangram {
namespace {

// Deeper than any file nests. The reader recurses once a level.
constexpr int kMaxDepth = 32;
// Twice the number of values in a cluster of 100,000 named nodes.
constexpr int kMaxValues = 200'000;

absl::Status ErrorAt(absl::string_view source_name, const YAML::Mark& mark,
                     absl::string_view what) {
  if (mark.is_null()) {
    return absl::InvalidArgumentError(absl::StrCat(source_name, ": ", what));
  }
  return absl::InvalidArgumentError(absl::StrCat(source_name, ": line ",
                                                 mark.line + 1, ", column ",
                                                 mark.column + 1, ": ", what));
}

// Builds the tree from the parser's events. Events cannot stop the parser, so
// the builder ends the input after the first error and ignores later events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(absl::string_view source_name, std::istream& input)
      : source_name_(source_name), input_(input) {}

  const absl::Status& status() const { return status_; }
  ConfigValue TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    Fail(mark, "an anchor (&); expected every value in full");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "an alias (*); expected every value in full");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    Add(mark, ConfigValue::Kind::kNull);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& text) override {
    if (IsKeyNext()) {
      if (Accept(mark)) open_.back()->keys.push_back(text);
      return;
    }
    ConfigValue* value = Add(mark, ConfigValue::Kind::kScalar);
    if (value != nullptr) value->scalar = text;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&,
                       YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark, ConfigValue::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, ConfigValue::Kind::kMapping);
  }
  void OnMapEnd() override { Close(); }

 private:
  bool IsKeyNext() const {
    return !open_.empty() &&
           open_.back()->kind == ConfigValue::Kind::kMapping &&
           open_.back()->keys.size() == open_.back()->items.size();
  }

  void Fail(const YAML::Mark& mark, absl::string_view what) {
    if (status_.ok()) status_ = ErrorAt(source_name_, mark, what);
    input_.setstate(std::ios::eofbit);
  }

  bool Accept(const YAML::Mark& mark) {
    if (++num_values_ > kMaxValues) {
      Fail(mark, absl::StrCat("more than ", kMaxValues, " values"));
    }
    return status_.ok();
  }

  // Puts a new value into its place in the tree; null after an error. Pointers
  // to open values stay valid, because only the innermost open one grows.
  ConfigValue* Add(const YAML::Mark& mark, ConfigValue::Kind kind) {
    if (!Accept(mark)) return nullptr;
    if (IsKeyNext()) {
      Fail(mark, "a key that is not plain text");
      return nullptr;
    }
    ConfigValue* value =
        open_.empty() ? &root_ : &open_.back()->items.emplace_back();
    value->kind = kind;
    return value;
  }

  void Open(const YAML::Mark& mark, ConfigValue::Kind kind) {
    if (ConfigValue* value = Add(mark, kind)) open_.push_back(value);
    if (open_.size() > kMaxDepth) {
      Fail(mark, absl::StrCat("nested more than ", kMaxDepth, " deep"));
    }
  }

  void Close() {
    if (status_.ok()) open_.pop_back();
  }

  const absl::string_view source_name_;
  std::istream& input_;
  absl::Status status_;
  ConfigValue root_;
  std::vector<ConfigValue*> open_;
  int num_values_ = 0;
};

// Limits unclosed brackets, because the parser spends microseconds on each of
// them. Real files do not leave kMaxDepth of them open, not even in comments.
absl::Status CheckBrackets(absl::string_view text,
                           absl::string_view source_name) {
  int open = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMaxDepth) {
      return absl::InvalidArgumentError(absl::StrCat(
          source_name, ": brackets nested more than ", kMaxDepth, " deep"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ConfigValue> ParseConfigText(absl::string_view text,
                                            absl::string_view source_name) {
  TANGRAM_RETURN_IF_ERROR(CheckConfigText(text, source_name));
  TANGRAM_RETURN_IF_ERROR(CheckBrackets(text, source_name));
  std::istringstream input{std::string(text)};
  TreeBuilder builder(source_name, input);
  TreeBuilder rest(source_name, input);
  // yaml-cpp may throw here and nowhere else.
  try {
    YAML::Parser parser(input);
    if (!parser.HandleNextDocument(builder)) {
      return absl::InvalidArgumentError(
          absl::StrCat(source_name, ": empty; expected YAML or JSON"));
    }
    if (builder.status().ok() && parser.HandleNextDocument(rest)) {
      return absl::InvalidArgumentError(
          absl::StrCat(source_name, ": several documents; expected one"));
    }
  } catch (const YAML::DeepRecursion& e) {
    return ErrorAt(source_name, e.mark,
                   absl::StrCat("nested more than ", kMaxDepth, " deep"));
  } catch (const YAML::Exception& e) {
    // The builder's own error comes first, because it cut the input short.
    TANGRAM_RETURN_IF_ERROR(builder.status());
    return ErrorAt(source_name, e.mark, e.msg);
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(
        absl::StrCat(source_name, ": cannot be parsed: ", e.what()));
  }
  TANGRAM_RETURN_IF_ERROR(builder.status());
  return builder.TakeRoot();
}

}  // namespace tangram
