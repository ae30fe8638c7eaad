#ifndef TANGRAM_COORDINATOR_STORE_STORED_ANSWER_H_
#define TANGRAM_COORDINATOR_STORE_STORED_ANSWER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/dispatch/answer_store.h"

namespace tangram {

// An answer as a database keeps it.
struct StoredAnswer {
  std::string key;       // The 40 bytes of QueryKey.
  std::string question;  // As Question::bytes.
  std::string answer;    // As SerializeAnswer returns it.
  std::string checksum;  // SHA-256 of the version and the other columns.

  size_t num_bytes() const {
    return key.size() + question.size() + answer.size() + checksum.size();
  }
};

// Reasons to drop a row; labels of a metric.
inline constexpr char kBadChecksum[] = "checksum";
inline constexpr char kOtherQuestion[] = "question";
inline constexpr char kUndecodable[] = "encoding";
inline constexpr char kWrongAnswer[] = "answer";  // CheckAnswer refuses it.
inline constexpr const char* kDropReasons[] = {kBadChecksum, kOtherQuestion,
                                               kUndecodable, kWrongAnswer};

// Returns the checksum that belongs to the other columns of a row.
std::string ChecksumOf(absl::string_view version, const StoredAnswer& row);

// Returns the row that stores an answer.
StoredAnswer Seal(absl::string_view version, const AnsweredQuestion& answered);

// Returns the answer in a row if its bytes are those that Seal returned for
// this version and question. The message of an error is one of kDropReasons.
// The checksum is not secret: anyone who can write the database can make a row
// that passes. The caller must still check the answer against the question.
absl::StatusOr<Answer> Unseal(absl::string_view version,
                              const Question& question,
                              const StoredAnswer& row);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_STORED_ANSWER_H_
