#include "coordinator/store/stored_answer.h"

#include "common/digest/sha256.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {
namespace {

constexpr absl::string_view kRowFormat = "tangram answer 1";

}  // namespace

std::string ChecksumOf(absl::string_view version, const StoredAnswer& row) {
  std::string bytes;
  bytes.reserve(row.num_bytes() + 64);
  for (const absl::string_view column :
       {kRowFormat, version, absl::string_view(row.key),
        absl::string_view(row.question), absl::string_view(row.answer)}) {
    AppendCanonical(bytes, column);
  }
  return std::string(Sha256::OfThread()(bytes).view());
}

StoredAnswer Seal(absl::string_view version, const AnsweredQuestion& answered) {
  StoredAnswer row{.key = std::string(answered.question.key.view()),
                   .question = answered.question.bytes,
                   .answer = SerializeAnswer(answered.answer)};
  row.checksum = ChecksumOf(version, row);
  return row;
}

absl::StatusOr<Answer> Unseal(absl::string_view version,
                              const Question& question,
                              const StoredAnswer& row) {
  if (row.checksum != ChecksumOf(version, row)) {
    return absl::DataLossError(kBadChecksum);
  }
  if (row.key != question.key.view() || row.question != question.bytes) {
    return absl::DataLossError(kOtherQuestion);
  }
  absl::StatusOr<Answer> answer = ParseAnswer(row.answer);
  if (!answer.ok()) return absl::DataLossError(kUndecodable);
  return answer;
}

}  // namespace tangram
