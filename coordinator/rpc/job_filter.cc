#include "coordinator/rpc/job_filter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr size_t kMaxFilterBytes = 2000;
constexpr int kMaxFilterDepth = 32;

constexpr std::pair<absl::string_view, JobState> kStates[] = {
    {"QUEUED", JobState::kQueued},
    {"RUNNING", JobState::kRunning},
    {"SUCCEEDED", JobState::kSucceeded},
    {"FAILED", JobState::kFailed},
    {"CANCELLED", JobState::kCancelled}};

using NumberOf = double (*)(const Job&);
struct NumberField {
  absl::string_view name;
  NumberOf value;
  bool is_time = false;
};
constexpr NumberField kNumbers[] = {
    {"priority", [](const Job& job) -> double { return job.priority; }},
    {"attempts", [](const Job& job) -> double { return job.attempts; }},
    {"losses", [](const Job& job) -> double { return job.losses; }},
    {"submitted_s", [](const Job& job) { return job.submitted_s; }, true},
    {"started_s", [](const Job& job) { return job.started_s; }, true},
    {"finished_s", [](const Job& job) { return job.finished_s; }, true},
    {"deadline_s", [](const Job& job) { return job.deadline_s; }, true}};
constexpr char kFields[] =
    "job_id, state, priority, attempts, losses, submitted_s, started_s, "
    "finished_s, deadline_s or labels.NAME";

absl::Status BadFilter(absl::string_view found, absl::string_view expected) {
  return FieldError("filter", absl::StrCat("\"", found, "\""), expected);
}

struct Token {
  enum class Kind { kWord, kText, kOperator, kOpen, kClose, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;
};

bool IsWordCharacter(char c) {
  return absl::ascii_isgraph(c) && !absl::StrContains("()\"=!<>:", c);
}

// Splits a filter into tokens.
absl::StatusOr<std::vector<Token>> Tokens(absl::string_view text) {
  std::vector<Token> tokens;
  while (true) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (text.empty()) break;
    size_t length = 1;
    Token token;
    if (text[0] == '(' || text[0] == ')') {
      token.kind = text[0] == '(' ? Token::Kind::kOpen : Token::Kind::kClose;
    } else if (text[0] == '"') {
      length = text.find('"', 1);
      if (length == absl::string_view::npos) {
        return BadFilter(text, "a closing quote");
      }
      token = {Token::Kind::kText, std::string(text.substr(1, length - 1))};
      ++length;
    } else if (IsWordCharacter(text[0])) {
      while (length < text.size() && IsWordCharacter(text[length])) ++length;
      token = {Token::Kind::kWord, std::string(text.substr(0, length))};
    } else {
      for (const absl::string_view op :
           {"!=", "<=", ">=", "=", "<", ">", ":"}) {
        if (!absl::StartsWith(text, op)) continue;
        length = op.size();
        token = {Token::Kind::kOperator, std::string(op)};
        break;
      }
      if (token.kind == Token::Kind::kEnd) {
        return BadFilter(text.substr(0, 1), "a field, operator or value");
      }
    }
    tokens.push_back(std::move(token));
    text.remove_prefix(length);
  }
  tokens.emplace_back();
  return tokens;
}

bool Compare(double left, absl::string_view op, double right) {
  if (op == "=" || op == ":") return left == right;
  if (op == "!=") return left != right;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  return left >= right;
}

// A star at either end stands for any text.
bool Matches(absl::string_view text, absl::string_view pattern) {
  const bool any_start = absl::ConsumePrefix(&pattern, "*");
  const bool any_end = absl::ConsumeSuffix(&pattern, "*");
  if (any_start && any_end) return absl::StrContains(text, pattern);
  if (any_start) return absl::EndsWith(text, pattern);
  if (any_end) return absl::StartsWith(text, pattern);
  return text == pattern;
}

absl::StatusOr<double> ParseNumber(const NumberField& field,
                                   const std::string& text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number) && !std::isnan(number)) return number;
  absl::Time time;
  std::string error;
  if (field.is_time &&
      absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::ToDoubleSeconds(time - absl::UnixEpoch());
  }
  return BadFilter(text, field.is_time
                             ? "a number of seconds since 1970, or a text such "
                               "as \"2026-11-26T12:00:00Z\""
                             : "a number");
}

absl::StatusOr<JobPredicate> StateIs(const std::string& op,
                                     const std::string& value) {
  for (const auto& [name, state] : kStates) {
    if (value != name) continue;
    if (op == "=" || op == ":") {
      return [state = state](const Job& job, const std::string&) {
        return job.state == state;
      };
    }
    if (op == "!=") {
      return [state = state](const Job& job, const std::string&) {
        return job.state != state;
      };
    }
    return BadFilter(op, "= or != after state");
  }
  return BadFilter(value, "QUEUED, RUNNING, SUCCEEDED, FAILED or CANCELLED");
}

absl::Status CheckTextOperator(const std::string& op) {
  if (op == "=" || op == "!=" || op == ":") return absl::OkStatus();
  return BadFilter(op, "= or != between texts");
}

absl::StatusOr<JobPredicate> Restriction(const std::string& field,
                                         const std::string& op,
                                         const std::string& value) {
  if (field == "state") return StateIs(op, value);
  for (const NumberField& known : kNumbers) {
    if (field != known.name) continue;
    TANGRAM_ASSIGN_OR_RETURN(const double number, ParseNumber(known, value));
    return [known, op, number](const Job& job, const std::string&) {
      return Compare(known.value(job), op, number);
    };
  }
  if (field == "job_id") {
    TANGRAM_RETURN_IF_ERROR(CheckTextOperator(op));
    return [value, negate = op == "!="](const Job&, const std::string& name) {
      return Matches(name, value) != negate;
    };
  }
  absl::string_view label = field;
  if (label == "labels" && op == ":") {
    return [value](const Job& job, const std::string&) {
      return job.labels.count(value) > 0;
    };
  }
  if (absl::ConsumePrefix(&label, "labels.") && !label.empty()) {
    TANGRAM_RETURN_IF_ERROR(CheckTextOperator(op));
    return [name = std::string(label), value, negate = op == "!="](
               const Job& job, const std::string&) {
      const auto it = job.labels.find(name);
      const bool is_it = it != job.labels.end() && Matches(it->second, value);
      return is_it != negate;
    };
  }
  return BadFilter(field, kFields);
}

// expression = or {"AND" or}; or = factor {"OR" factor};
// factor = ["NOT" | "-"] ("(" expression ")" | field operator value).
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<JobPredicate> Parse() {
    TANGRAM_ASSIGN_OR_RETURN(JobPredicate whole, Expression(0));
    if (Next().kind == Token::Kind::kEnd) return whole;
    return BadFilter(Next().text.empty() ? ")" : Next().text,
                     "AND, OR or the end");
  }

 private:
  const Token& Next() const { return tokens_[at_]; }
  Token Take() {
    Token token = tokens_[at_];
    if (token.kind != Token::Kind::kEnd) ++at_;
    return token;
  }
  bool TakeWord(absl::string_view word) {
    if (Next().kind != Token::Kind::kWord || Next().text != word) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<JobPredicate> Expression(int depth) {
    TANGRAM_ASSIGN_OR_RETURN(JobPredicate all, Alternatives(depth));
    while (TakeWord("AND")) {
      TANGRAM_ASSIGN_OR_RETURN(JobPredicate next, Alternatives(depth));
      all = [all, next](const Job& job, const std::string& name) {
        return all(job, name) && next(job, name);
      };
    }
    return all;
  }

  absl::StatusOr<JobPredicate> Alternatives(int depth) {
    TANGRAM_ASSIGN_OR_RETURN(JobPredicate any, Factor(depth));
    while (TakeWord("OR")) {
      TANGRAM_ASSIGN_OR_RETURN(JobPredicate next, Factor(depth));
      any = [any, next](const Job& job, const std::string& name) {
        return any(job, name) || next(job, name);
      };
    }
    return any;
  }

  absl::StatusOr<JobPredicate> Factor(int depth) {
    if (depth > kMaxFilterDepth) {
      return BadFilter("(",
                       absl::StrCat("at most ", kMaxFilterDepth, " levels"));
    }
    if (TakeWord("NOT") || TakeWord("-")) return Negated(depth);
    Token& next = tokens_[at_];
    if (next.kind == Token::Kind::kWord && next.text[0] == '-') {
      next.text.erase(0, 1);
      return Negated(depth);
    }
    if (next.kind == Token::Kind::kOpen) {
      Take();
      TANGRAM_ASSIGN_OR_RETURN(JobPredicate inner, Expression(depth + 1));
      if (Take().kind != Token::Kind::kClose) {
        return BadFilter("(", "a closing parenthesis");
      }
      return inner;
    }
    const Token field = Take();
    if (field.kind != Token::Kind::kWord) return BadFilter(field.text, kFields);
    const Token op = Take();
    if (op.kind != Token::Kind::kOperator) {
      return BadFilter(field.text, "an operator after it: = != < <= > >= :");
    }
    const Token value = Take();
    if (value.kind != Token::Kind::kWord && value.kind != Token::Kind::kText) {
      return BadFilter(absl::StrCat(field.text, op.text), "a value after it");
    }
    return Restriction(field.text, op.text, value.text);
  }

  absl::StatusOr<JobPredicate> Negated(int depth) {
    TANGRAM_ASSIGN_OR_RETURN(JobPredicate inner, Factor(depth + 1));
    return [inner](const Job& job, const std::string& name) {
      return !inner(job, name);
    };
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<JobPredicate> ParseJobFilter(absl::string_view text) {
  if (text.size() > kMaxFilterBytes) {
    return FieldError("filter", absl::StrCat(text.size(), " bytes"),
                      absl::StrCat("at most ", kMaxFilterBytes));
  }
  if (absl::StripAsciiWhitespace(text).empty()) {
    return [](const Job&, const std::string&) { return true; };
  }
  TANGRAM_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokens(text));
  return Parser(std::move(tokens)).Parse();
}

absl::StatusOr<JobOrder> ParseJobOrder(absl::string_view text) {
  constexpr std::pair<absl::string_view, JobOrder::Key> kKeys[] = {
      {"submitted_s", JobOrder::Key::kSubmitted},
      {"started_s", JobOrder::Key::kStarted},
      {"finished_s", JobOrder::Key::kFinished},
      {"priority", JobOrder::Key::kPriority},
      {"job_id", JobOrder::Key::kId}};
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.empty()) return JobOrder{};
  const bool has_direction =
      words.size() == 2 && (words[1] == "asc" || words[1] == "desc");
  if (words.size() == 1 || has_direction) {
    for (const auto& [name, key] : kKeys) {
      if (words[0] != name) continue;
      return JobOrder{.key = key,
                      .descending = has_direction && words[1] == "desc"};
    }
  }
  return FieldError("order_by", absl::StrCat("\"", text.substr(0, 100), "\""),
                    "submitted_s, started_s, finished_s, priority or job_id, "
                    "and perhaps desc");
}

}  // namespace tangram
