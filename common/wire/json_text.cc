#include "common/wire/json_text.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// Deeper than any message nests. The scanner recurses once per level.
constexpr int kMaxDepth = 64;
// Columns of a terminal.
constexpr size_t kLineWidth = 80;
constexpr int kIndent = 2;  // Spaces a level, as in our other files.

// Returns the ASCII character of an escape with these hex digits, or 0. Names
// of fields have no others.
char EscapedAscii(absl::string_view digits) {
  int code = 0;
  const bool is_ascii = digits.size() == 4 &&
                        absl::SimpleHexAtoi(digits, &code) && code > 0 &&
                        code < 0x80;
  return is_ascii ? static_cast<char>(code) : '\0';
}

// Replaces the escapes of ASCII characters by hex digits.
std::string WithoutAsciiEscapes(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    plain.push_back(text[i]);
    if (text[i] != '\\' || i + 1 == text.size()) continue;
    const char c =
        text[++i] == 'u' ? EscapedAscii(text.substr(i + 1, 4)) : '\0';
    if (c == '\0') {
      plain.push_back(text[i]);
    } else {
      plain.back() = c;
      i += 4;
    }
  }
  return plain;
}

// Returns the JSON name of the field that a quoted key means: "madeBy" for
// "made_by".
std::string FieldOfKey(absl::string_view quoted) {
  std::string field;
  bool is_after_underscore = false;
  for (const char c : WithoutAsciiEscapes(quoted)) {
    if (c != '_') {
      field.push_back(is_after_underscore ? absl::ascii_toupper(c) : c);
    }
    is_after_underscore = c == '_';
  }
  return field;
}

// Steps over JSON values (RFC 8259).
class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) {}

  size_t position() const { return position_; }
  char Peek() const { return position_ < text_.size() ? text_[position_] : 0; }
  bool AtEnd() const { return position_ == text_.size(); }

  bool Consume(char c) {
    if (AtEnd() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void SkipSpace() {
    while (!AtEnd() && absl::StrContains(" \t\r\n", text_.substr(position_, 1)))
      ++position_;
  }

  absl::Status SkipValue(int depth = 0) {
    if (depth > kMaxDepth) return Expected("less nesting");
    const char c = Peek();
    if (c == '{') return SkipMembers('}', depth);
    if (c == '[') return SkipMembers(']', depth);
    if (c == '"') return SkipString();
    if (c == '-' || absl::ascii_isdigit(c)) return SkipNumber();
    for (const absl::string_view word : {"true", "false", "null"}) {
      if (absl::StartsWith(text_.substr(position_), word)) {
        position_ += word.size();
        return absl::OkStatus();
      }
    }
    return Expected("a value");
  }

  absl::Status SkipString() {
    if (!Consume('"')) return Expected("a string");
    while (!AtEnd() && Peek() != '"') {
      if (static_cast<unsigned char>(Peek()) < 0x20) {
        return Expected("no control character");
      }
      position_ += Peek() == '\\' ? 2 : 1;
      if (position_ > text_.size()) position_ = text_.size();
    }
    if (!Consume('"')) return Expected("the end of a string");
    return absl::OkStatus();
  }

  absl::Status Expected(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "not valid JSON at offset ", position_, ": expected ", what));
  }

 private:
  absl::Status SkipMembers(char close, int depth) {
    ++position_;
    SkipSpace();
    if (Consume(close)) return absl::OkStatus();
    absl::flat_hash_set<std::string> fields;
    do {
      SkipSpace();
      if (close == '}') {
        const size_t begin = position_;
        if (absl::Status key = SkipString(); !key.ok()) return key;
        const absl::string_view key = text_.substr(begin, position_ - begin);
        if (!fields.insert(FieldOfKey(key)).second)
          return RepeatedKey(begin, key);
        SkipSpace();
        if (!Consume(':')) return Expected("':'");
        SkipSpace();
      }
      if (absl::Status v = SkipValue(depth + 1); !v.ok()) return v;
      SkipSpace();
    } while (Consume(','));
    if (!Consume(close)) {
      return Expected(absl::StrCat("',' or '", std::string(1, close), "'"));
    }
    return absl::OkStatus();
  }

  static absl::Status RepeatedKey(size_t offset, absl::string_view key) {
    return absl::InvalidArgumentError(
        absl::StrCat("field ", key, " at offset ", offset,
                     ": a second time; expected each field once"));
  }

  bool SkipDigits() {
    const size_t begin = position_;
    while (absl::ascii_isdigit(Peek())) ++position_;
    return position_ > begin;
  }

  absl::Status SkipNumber() {
    Consume('-');
    if (!SkipDigits()) return Expected("a digit");
    if (Consume('.') && !SkipDigits()) return Expected("a digit");
    if (Consume('e') || Consume('E')) {
      if (!Consume('+')) Consume('-');
      if (!SkipDigits()) return Expected("a digit");
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  size_t position_ = 0;
};

bool IsContainer(absl::string_view value) {
  return value.front() == '{' || value.front() == '[';
}

// Returns `value` with a space after ':' and ','. Stops after `max_size` bytes.
std::string OneLine(absl::string_view value, size_t max_size) {
  std::string line;
  for (size_t i = 0; i < value.size() && line.size() <= max_size; ++i) {
    if (value[i] == '"') {
      Scanner scanner(value.substr(i));
      scanner.SkipString().IgnoreError();
      line.append(std::string(value.substr(i, scanner.position())));
      i += scanner.position() - 1;
      continue;
    }
    line.push_back(value[i]);
    if (value[i] == ':' || value[i] == ',') line.push_back(' ');
  }
  return line;
}

size_t Column(const std::string& out) {
  return out.size() - (out.rfind('\n') + 1);
}

void LayOut(absl::string_view value, int depth, std::string& out);

// Writes the members of a container, one per line. Numbers and strings of an
// array share lines.
void LayOutMembers(absl::string_view value, int depth, std::string& out) {
  const bool is_object = value.front() == '{';
  const std::string line_break =
      absl::StrCat("\n", std::string(kIndent * (depth + 1), ' '));
  Scanner scanner(value.substr(1, value.size() - 2));
  const absl::string_view members = value.substr(1);
  out.push_back(value.front());
  for (bool is_first = true; !scanner.AtEnd(); is_first = false) {
    const size_t key = scanner.position();
    if (is_object) {
      scanner.SkipString().IgnoreError();
      scanner.Consume(':');
    }
    const size_t begin = scanner.position();
    scanner.SkipValue().IgnoreError();
    const absl::string_view member =
        members.substr(begin, scanner.position() - begin);
    const bool fills_line = !is_first && !is_object && !IsContainer(member) &&
                            Column(out) + member.size() + 3 <= kLineWidth;
    if (!is_first) out.push_back(',');
    out.append(fills_line ? " " : line_break);
    if (is_object) {
      out.append(std::string(members.substr(key, begin - key)));
      out.push_back(' ');
    }
    LayOut(member, depth + 1, out);
    scanner.Consume(',');
  }
  absl::StrAppend(&out, "\n", std::string(kIndent * depth, ' '));
  out.push_back(value.back());
}

void LayOut(absl::string_view value, int depth, std::string& out) {
  const std::string line = OneLine(value, kLineWidth);
  // Leaves one column for a comma.
  if (!IsContainer(value) || Column(out) + line.size() < kLineWidth) {
    out.append(OneLine(value, value.size() * 2));
  } else {
    LayOutMembers(value, depth, out);
  }
}

}  // namespace

absl::Status CheckJsonSyntax(absl::string_view text) {
  Scanner scanner(text);
  scanner.SkipSpace();
  if (absl::Status value = scanner.SkipValue(); !value.ok()) return value;
  scanner.SkipSpace();
  return scanner.AtEnd() ? absl::OkStatus()
                         : scanner.Expected("the end of the text");
}

std::string LayOutJson(absl::string_view compact) {
  std::string out;
  LayOut(compact, 0, out);
  out.push_back('\n');
  return out;
}

}  // namespace tangram
