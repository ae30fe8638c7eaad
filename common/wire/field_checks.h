#ifndef TANGRAM_COMMON_WIRE_FIELD_CHECKS_H_
#define TANGRAM_COMMON_WIRE_FIELD_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/in_field.h"
#include "common/domain/limits.h"

// Checks of decoding. Every error is kInvalidArgument and reads
//   cluster.nodes[3].num_gpus: 0; expected a positive integer
// Callers add the path after an error, so that a good message costs nothing.
namespace tangram {

absl::Status CheckPositive(absl::string_view field, double value);
absl::Status CheckNotNegative(absl::string_view field, double value);
// Checks min … max.
absl::Status CheckWithin(absl::string_view field, double value, double min,
                         double max);
// Checks 0 … 1.
absl::Status CheckFraction(absl::string_view field, double value);
absl::Status CheckFinite(absl::string_view field, double value);
// Checks 1 … max.
absl::Status CheckPositive(absl::string_view field, int64_t value, int64_t max);
// Checks 0 … max.
absl::Status CheckNotNegative(absl::string_view field, int64_t value,
                              int64_t max);
// Checks 0 … size − 1.
absl::Status CheckIndex(absl::string_view field, int64_t value, int64_t size);
// Checks that there are at most `max` elements.
absl::Status CheckCount(absl::string_view field, int64_t count, int64_t max);
// Checks that a text has at most `max_bytes` bytes.
absl::Status CheckLength(absl::string_view field, absl::string_view text,
                         int max_bytes);
absl::Status CheckNotEmpty(absl::string_view field, absl::string_view value);
// Checks that a name is not empty, and a label.
absl::Status CheckName(absl::string_view field, absl::string_view value);
// Checks that a text has at most kMaxNameBytes and no control characters.
absl::Status CheckLabel(absl::string_view field, absl::string_view text);
// Checks that a text has no control characters.
absl::Status CheckPrintable(absl::string_view field, absl::string_view text);
// Checks the name that a worker gives itself: printable, and without the "@"
// that sources of workers have (caller@host).
absl::Status CheckWorkerName(absl::string_view field, absl::string_view value);
absl::Status CheckPresent(absl::string_view field, bool present);
// Returns whether a name is "." or "..", which paths drop.
bool IsDotSegment(absl::string_view name);

absl::Status FirstError(std::initializer_list<absl::Status> checks);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_FIELD_CHECKS_H_
