#ifndef TANGRAM_COORDINATOR_STORE_JOB_ROW_H_
#define TANGRAM_COORDINATOR_STORE_JOB_ROW_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_database.h"

// Columns of the table of jobs in the order in which JobOf reads them.
#define TANGRAM_JOB_COLUMNS                                                \
  "id, priority, state, cancel_wanted, num_attempts, owner, submitted_s, " \
  "started_s, finished_s, error_code, error_message, share_key, losses, "  \
  "state_seal, labels, deadline_s, keep_s, webhook, ran_s, sequence"
// Likewise for WholeJobOf.
#define TANGRAM_WHOLE_JOB_COLUMNS \
  TANGRAM_JOB_COLUMNS ", request, result, submit_seal, outcome_seal"

namespace tangram {

inline constexpr int kNumJobColumns = 20;
inline constexpr int kNumWholeJobColumns = 24;

// The most attempts or losses of a job: one a second for 34 years.
inline constexpr int64_t kMaxAttempts = (int64_t{1} << 30) - 1;

// Return the SHA-256 of what a job asks, of how it ended (empty: it has not),
// and of the other columns, each with its id. They are not secret: anyone who
// can write the database can make a row that passes.
std::string SubmitSeal(const Job& job);
std::string OutcomeSeal(const Job& job);
std::string RowSeal(const Job& job);

// Labels as a text: "name=value" lines in order.
std::string LabelText(const std::map<std::string, std::string>& labels);
std::map<std::string, std::string> LabelsOf(absl::string_view text);

// Returns the state of a number in a row; kFailed if it is none.
JobState StateOf(int64_t number);

struct StoredJob {
  Job job;
  // `job` is then one that failed, with a kDataLoss that names the column and
  // with an id that is text.
  bool is_damaged = false;
};
// Returns the job of a row without request and result. It is damaged if a
// number in it is outside its range or its row has another seal.
StoredJob JobOf(const SqlRow& row);

// Whether a row must have seals. Earlier formats wrote some or none.
enum class Seals { kRequired, kIfPresent };
// Returns the job of a whole row. It is damaged too if another seal is not that
// of its columns.
StoredJob WholeJobOf(const SqlRow& row, Seals seals = Seals::kRequired);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_ROW_H_
