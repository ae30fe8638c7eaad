#ifndef TANGRAM_COMMON_WIRE_FIELD_CHECKS_H_
#define TANGRAM_COMMON_WIRE_FIELD_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/limits.h"

// What decoding checks. Every error is kInvalidArgument and reads
//   cluster.nodes[3].num_gpus: 0; expected a positive integer
// Paths are put together on the way out, so that a good message costs nothing.
namespace tangram {

absl::Status CheckPositive(absl::string_view field, double value);
absl::Status CheckNotNegative(absl::string_view field, double value);
// 0 … 1.
absl::Status CheckFraction(absl::string_view field, double value);
absl::Status CheckFinite(absl::string_view field, double value);
// 1 … max.
absl::Status CheckPositive(absl::string_view field, int64_t value, int64_t max);
// 0 … max.
absl::Status CheckNotNegative(absl::string_view field, int64_t value,
                              int64_t max);
// 0 … size − 1.
absl::Status CheckIndex(absl::string_view field, int64_t value, int64_t size);
// At most `max` elements.
absl::Status CheckCount(absl::string_view field, int64_t count, int64_t max);
// At most `max_bytes` long.
absl::Status CheckLength(absl::string_view field, absl::string_view text,
                         int max_bytes);
absl::Status CheckNotEmpty(absl::string_view field, absl::string_view value);
// Not empty and not too long.
absl::Status CheckName(absl::string_view field, absl::string_view value);
absl::Status CheckPresent(absl::string_view field, bool present);

absl::Status FirstError(std::initializer_list<absl::Status> checks);

// `status` with `field.` (or `field[index].`) in front of its path.
absl::Status InField(absl::string_view field, absl::Status status);
absl::Status InField(absl::string_view field, int index, absl::Status status);

template <typename T>
absl::StatusOr<T> InField(absl::string_view field, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return InField(field, std::move(value).status());
}
template <typename T>
absl::StatusOr<T> InField(absl::string_view field, int index,
                          absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return InField(field, index, std::move(value).status());
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_FIELD_CHECKS_H_
