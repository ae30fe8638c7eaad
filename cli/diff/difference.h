#ifndef TANGRAM_CLI_DIFF_DIFFERENCE_H_
#define TANGRAM_CLI_DIFF_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tangram {

using DiffValue = std::variant<std::string, int64_t, double, bool>;

// One thing that two plans do not have in common.
struct Difference {
  std::string field;  // As in plan files, with its unit: "peak_bytes".
  DiffValue a;
  DiffValue b;
  bool operator==(const Difference&) const = default;
};

// Collects what differs and leaves out what does not.
class Differences {
 public:
  void Number(std::string field, int64_t a, int64_t b) {
    Add(std::move(field), a, b);
  }
  void Figure(std::string field, double a, double b) {
    Add(std::move(field), a, b);
  }
  void Switch(std::string field, bool a, bool b) {
    Add(std::move(field), a, b);
  }
  void Name(std::string field, std::string a, std::string b) {
    Add(std::move(field), std::move(a), std::move(b));
  }
  // What differs although the same may be said of both.
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
