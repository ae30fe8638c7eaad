#ifndef TANGRAM_COMMON_WIRE_WORKER_POOL_WIRE_H_
#define TANGRAM_COMMON_WIRE_WORKER_POOL_WIRE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/parallelizer/query.h"

namespace tangram::v1 {
class Answer;
class Lease;
}  // namespace tangram::v1

namespace tangram {

inline constexpr int kMaxWorkerThreads = 1 << 12;  // Queries at once.

// The query of a lease. Indices are not checked: see CheckIndices.
void EncodeQuery(const Query& query, v1::Lease& lease);
absl::StatusOr<Query> DecodeQuery(const v1::Lease& lease);

// What a call returned, be it an answer or an error. Decoding returns the error
// that was encoded, or kInternal for what is not an answer.
void EncodeAnswer(const absl::StatusOr<Answer>& answer, v1::Answer& message);
absl::StatusOr<Answer> DecodeAnswer(const v1::Answer& message);
// Whether the message says that the call returned an error.
bool IsError(const v1::Answer& message);

// Sets the digest of a message that is complete otherwise.
void SealAnswer(v1::Answer& message);
// Not OK if a field has changed since the message was sealed.
absl::Status CheckSeal(const v1::Answer& message);

// An answer as bytes, for keeping.
std::string SerializeAnswer(const Answer& answer);
absl::StatusOr<Answer> ParseAnswer(const std::string& bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_WORKER_POOL_WIRE_H_
