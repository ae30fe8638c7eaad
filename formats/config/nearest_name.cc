#include "formats/config/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tangram {
namespace {

// Longer names are not compared; no known name is nearly as long.
constexpr size_t kMaxLength = 64;

// Levenshtein distance, one row of the table at a time:
//   d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i ≠ b_j])
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
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

}  // namespace tangram
