#ifndef TANGRAM_COMMON_WIRE_WORKER_POOL_WIRE_H_
#define TANGRAM_COMMON_WIRE_WORKER_POOL_WIRE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/parallelizer/query.h"

namespace tangram::v1 {
class Answer;
class CoordinatorMessage;
class Lease;
}  // namespace tangram::v1

namespace tangram {

// Limit on the queries that a worker runs at once. No machine has more cores.
inline constexpr int kMaxWorkerThreads = 1 << 12;

// Convert the query of a lease. Indices are not checked here; CheckIndices
// does.
void EncodeQuery(const Query& query, v1::Lease& lease);
absl::StatusOr<Query> DecodeQuery(const v1::Lease& lease);

// Returns the silence that the message allows a worker: 0 if it says nothing
// about it, else kHeartbeatS … kMaxSilenceS. kInvalidArgument if out of range.
absl::StatusOr<double> DecodeSilence(const v1::CoordinatorMessage& message);

// Convert what a call returned, an answer or an error. Decoding returns the
// encoded error, or kInternal if the message is not an answer.
void EncodeAnswer(const absl::StatusOr<Answer>& answer, v1::Answer& message);
absl::StatusOr<Answer> DecodeAnswer(const v1::Answer& message);
// Returns whether the message holds an error.
bool IsError(const v1::Answer& message);

// Sets the digest of a message. No other field may change afterwards.
void SealAnswer(v1::Answer& message);
// Returns an error if a field has changed since the message was sealed. Takes
// the digest out of the message meanwhile, and puts it back: an answer may be
// large, so it is not copied.
absl::Status CheckSeal(v1::Answer& message);

// Convert an answer to bytes for storage, and back.
std::string SerializeAnswer(const Answer& answer);
absl::StatusOr<Answer> ParseAnswer(const std::string& bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_WORKER_POOL_WIRE_H_
