#include "formats/config/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// Longer names are not compared; no known name is nearly as long.
constexpr size_t kMaxLength = 64;

// Edit distance in which two neighbours that changed places count once
// (Damerau and Levenshtein, each part edited at most once):
//   d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i ≠ b_j],
//                 d(i-2, j-2) + 1 if a_i = b_{j-1} and a_{i-1} = b_j)
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1);  // Row i - 2.
  std::vector<size_t> last(b.size() + 1);    // Row i - 1.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

absl::string_view NearestName(absl::string_view name,
                              absl::Span<const absl::string_view> known) {
  if (name.size() > kMaxLength) return {};
  absl::string_view nearest;
  size_t nearest_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const absl::string_view candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view name,
                       absl::Span<const absl::string_view> known) {
  const absl::string_view nearest = NearestName(name, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace tangram
