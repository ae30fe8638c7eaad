#include "frameworks/layer_pattern.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace tangram {
namespace {

// Bounds the recursion; launch lines nest brackets twice at most.
constexpr int kMaxNesting = 32;

// A recursive descent over sums of repeated lists.
class PatternParser {
 public:
  PatternParser(absl::string_view text, size_t max_size)
      : text_(text), max_size_(max_size) {}

  std::optional<std::vector<int>> Parse() {
    std::optional<std::vector<int>> sum = ParseSum(0);
    return text_.empty() ? sum : std::nullopt;
  }

 private:
  using List = std::optional<std::vector<int>>;

  List ParseSum(int depth) {
    List sum = ParseProduct(depth);
    while (sum.has_value() && absl::ConsumePrefix(&text_, "+")) {
      const List more = ParseProduct(depth);
      if (!more.has_value() || sum->size() + more->size() > max_size_) {
        return std::nullopt;
      }
      sum->insert(sum->end(), more->begin(), more->end());
    }
    return sum;
  }

  List ParseProduct(int depth) {
    const List list = ParseList(depth);
    if (!list.has_value()) return std::nullopt;
    List product = list;
    while (absl::ConsumePrefix(&text_, "*")) {
      const std::optional<int> factor = TakeInt();
      if (!factor.has_value() || product->size() * *factor > max_size_) {
        return std::nullopt;
      }
      const std::vector<int> once = *product;
      product->clear();
      for (int i = 0; i < *factor; ++i) {
        product->insert(product->end(), once.begin(), once.end());
      }
    }
    return product;
  }

  List ParseList(int depth) {
    if (absl::ConsumePrefix(&text_, "(")) {
      if (depth >= kMaxNesting) return std::nullopt;
      List inner = ParseSum(depth + 1);
      return absl::ConsumePrefix(&text_, ")") ? inner : std::nullopt;
    }
    if (!absl::ConsumePrefix(&text_, "[")) return std::nullopt;
    std::vector<int> list;
    while (!absl::ConsumePrefix(&text_, "]")) {
      const std::optional<int> value = TakeInt();
      if (!value.has_value() || list.size() >= max_size_) return std::nullopt;
      list.push_back(*value);
      if (text_.empty()) return std::nullopt;
      if (text_.front() != ']' && !absl::ConsumePrefix(&text_, ",")) {
        return std::nullopt;
      }
    }
    return list;
  }

  std::optional<int> TakeInt() {
    const size_t digits =
        std::min(text_.find_first_not_of("0123456789"), text_.size());
    int value = 0;
    if (!absl::SimpleAtoi(text_.substr(0, digits), &value)) return std::nullopt;
    text_.remove_prefix(digits);
    return value;
  }

  absl::string_view text_;
  const size_t max_size_;
};

}  // namespace

std::optional<std::vector<int>> EvaluatePattern(absl::string_view text,
                                                size_t max_size) {
  return PatternParser(text, max_size).Parse();
}

}  // namespace tangram
