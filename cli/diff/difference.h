#ifndef TANGRAM_CLI_DIFF_DIFFERENCE_H_
#define TANGRAM_CLI_DIFF_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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
  void Number(std::string field, int64_t a, int64_t b) {
    Add(std::move(field), a, b);
  }
  // A quantity, in the unit that the field's name ends in.
  void Figure(std::string field, double a, double b) {
    Add(std::move(field), a, b);
  }
  // A setting that is on or off.
  void Switch(std::string field, bool a, bool b) {
    Add(std::move(field), a, b);
  }
  // A text.
  void Name(std::string field, std::string a, std::string b) {
    Add(std::move(field), std::move(a), std::move(b));
  }
  // A value that differs although its text `a` may equal `b`, such as the same
  // number of other GPUs. `b` then gets the suffix "(others)".
  void Label(bool differs, std::string field, std::string a, std::string b) {
    if (!differs) return;
    if (a == b) b += " (others)";
    Add(std::move(field), std::move(a), std::move(b));
  }
  std::vector<Difference> Take() && { return std::move(differences_); }

 private:
  void Add(std::string field, DiffValue a, DiffValue b) {
    if (a == b) return;
    differences_.push_back({std::move(field), std::move(a), std::move(b)});
  }

  std::vector<Difference> differences_;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_DIFFERENCE_H_
