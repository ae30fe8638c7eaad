#include "coordinator/rpc/request_differences.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/printable_text.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;

constexpr size_t kMaxDifferences = 5;
constexpr size_t kMaxValueBytes = 60;

using Path = std::vector<MessageDifferencer::SpecificField>;

std::string TextOfPath(const Path& path) {
  std::vector<std::string> names;
  for (const MessageDifferencer::SpecificField& part : path) {
    if (part.field == nullptr) continue;
    std::string name(part.field->name());
    const int index = part.index >= 0 ? part.index : part.new_index;
    if (part.field->is_repeated() && !part.field->is_map() && index >= 0) {
      absl::StrAppend(&name, "[", index, "]");
    }
    names.push_back(std::move(name));
  }
  return absl::StrJoin(names, ".");
}

// Returns the value of a simple field; empty: it is a message.
std::string TextOfValue(const Message& message,
                        const MessageDifferencer::SpecificField& part,
                        int index) {
  if (part.field == nullptr ||
      part.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return "";
  }
  std::string text;
  TextFormat::PrintFieldValueToString(
      message, part.field, part.field->is_repeated() ? index : -1, &text);
  return PrintableText(text, kMaxValueBytes);
}

// Keeps the first differences as text.
class Differences : public MessageDifferencer::Reporter {
 public:
  void ReportAdded(const Message&, const Message& now,
                   const Path& path) override {
    const std::string value =
        TextOfValue(now, path.back(), path.back().new_index);
    Add(path, value.empty() ? "new" : absl::StrCat("now ", value));
  }
  void ReportDeleted(const Message& kept, const Message&,
                     const Path& path) override {
    const std::string value = TextOfValue(kept, path.back(), path.back().index);
    Add(path,
        value.empty() ? "now missing" : absl::StrCat(value, ", now missing"));
  }
  void ReportModified(const Message& kept, const Message& now,
                      const Path& path) override {
    // Fields of messages are reported themselves.
    const FieldDescriptor* field = path.back().field;
    if (field == nullptr ||
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return;
    }
    Add(path, absl::StrCat(
                  TextOfValue(kept, path.back(), path.back().index), ", now ",
                  TextOfValue(now, path.back(), path.back().new_index)));
  }

  std::string Text() const {
    std::string text = absl::StrJoin(texts_, ", ");
    if (count_ > texts_.size()) {
      absl::StrAppend(&text, " and ", count_ - texts_.size(), " more");
    }
    return text;
  }

 private:
  void Add(const Path& path, const std::string& change) {
    ++count_;
    if (texts_.size() >= kMaxDifferences) return;
    texts_.push_back(absl::StrCat(TextOfPath(path), " (", change, ")"));
  }

  size_t count_ = 0;
  std::vector<std::string> texts_;
};

std::string TextOfLabels(const Job& job) {
  return absl::StrCat(
      "{", absl::StrJoin(job.labels, ", ", absl::PairFormatter("=")), "}");
}

}  // namespace

std::string RequestDifferences(absl::string_view kept, absl::string_view now) {
  v1::PlanRequest before;
  v1::PlanRequest after;
  if (!before.ParseFromArray(kept.data(), static_cast<int>(kept.size())) ||
      !after.ParseFromArray(now.data(), static_cast<int>(now.size()))) {
    return "";
  }
  Differences differences;
  MessageDifferencer differencer;
  differencer.ReportDifferencesTo(&differences);
  differencer.Compare(before, after);
  return differences.Text();
}

std::string SettingDifferences(const Job& kept, const Job& asked) {
  constexpr double kSameS = 60;
  std::vector<std::string> texts;
  const auto tell = [&](absl::string_view field, const std::string& before,
                        const std::string& now) {
    texts.push_back(
        absl::StrCat(field, " (", PrintableText(before, kMaxValueBytes),
                     ", now ", PrintableText(now, kMaxValueBytes), ")"));
  };
  const auto seconds = [](double value) {
    return absl::StrFormat("%.0f", value);
  };
  if (kept.priority != asked.priority) {
    tell("priority", absl::StrCat(kept.priority), absl::StrCat(asked.priority));
  }
  if (kept.labels != asked.labels) {
    tell("labels", TextOfLabels(kept), TextOfLabels(asked));
  }
  const bool has_both = kept.deadline_s > 0 && asked.deadline_s > 0;
  if (has_both ? std::abs(kept.timeout_s() - asked.timeout_s()) >= kSameS
               : kept.deadline_s != asked.deadline_s) {
    tell("timeout_s", seconds(kept.timeout_s()), seconds(asked.timeout_s()));
  }
  if (kept.keep_s != asked.keep_s) {
    tell("keep_s", absl::StrFormat("%.17g", kept.keep_s),
         absl::StrFormat("%.17g", asked.keep_s));
  }
  if (kept.webhook != asked.webhook) {
    tell("webhook", absl::StrCat("\"", kept.webhook, "\""),
         absl::StrCat("\"", asked.webhook, "\""));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace tangram
