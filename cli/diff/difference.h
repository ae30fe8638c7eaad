#ifndef TANGRAM_CLI_DIFF_DIFFERENCE_H_
#define TANGRAM_CLI_DIFF_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace tangram {

using DiffValue = std::variant<std::string, int64_t, double, bool>;

// A field whose value differs between plans a and b.
struct Difference {
  std::string field;  // Named as in plan files, with its unit: "peak_bytes".
  DiffValue a;
  DiffValue b;
  bool operator==(const Difference&) const = default;
};

// Collects the fields that differ; equal values are left out.
class Differences {
 public:
  // A whole number.
  void Number(absl::string_view field, int64_t a, int64_t b) {
    Add(field, a, b);
  }
  // A quantity, in the unit that the field's name ends in.
  void Figure(absl::string_view field, double a, double b) { Add(field, a, b); }
  // A setting that is on or off.
  void Switch(absl::string_view field, bool a, bool b) { Add(field, a, b); }
  // A text.
  void Name(absl::string_view field, std::string a, std::string b) {
    Add(field, std::move(a), std::move(b));
  }
  // A value that differs although its text `a` may equal `b`, such as the same
  // number of other GPUs. `b` then gets the suffix "(others)".
  void Label(bool differs, absl::string_view field, std::string a,
             std::string b) {
    if (!differs) return;
    if (a == b) b += " (others)";
    Add(field, std::move(a), std::move(b));
  }
  // Differences of a part, whose fields then follow `field` and a dot.
  void AddIn(const std::string& field, std::vector<Difference> found) {
    for (Difference& difference : found) {
      difference.field = field + "." + difference.field;
      differences_.push_back(std::move(difference));
    }
  }
  std::vector<Difference> Take() && { return std::move(differences_); }

 private:
  void Add(absl::string_view field, DiffValue a, DiffValue b) {
    if (a == b) return;
    differences_.push_back({std::string(field), std::move(a), std::move(b)});
  }

  std::vector<Difference> differences_;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_DIFFERENCE_H_
