#include "coordinator/store/job_row.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/digest/sha256.h"
#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {
namespace {

constexpr absl::string_view kRequestFormat = "tangram job request 1";
constexpr absl::string_view kOutcomeFormat = "tangram job outcome 1";
// The state of a job that ended is in the seal of its outcome.
constexpr absl::string_view kQueuedFormat = "tangram job queued 1";
constexpr absl::string_view kRunningFormat = "tangram job running 1";
constexpr absl::string_view kEndFormat = "tangram job end 1";
constexpr absl::string_view kSettingsFormat = "tangram job settings 1";
constexpr int kRowSealColumn = 13;
constexpr int64_t kLastState = static_cast<int64_t>(JobState::kCancelled);
constexpr int64_t kLastCode =
    static_cast<int64_t>(absl::StatusCode::kUnauthenticated);
// The most bytes of an id in a message. Sound ids are shorter.
constexpr size_t kMaxIdBytes = 300;

absl::Status CheckRange(absl::string_view column, int64_t value, int64_t least,
                        int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return FieldError(column, value, absl::StrCat(least, " to ", most));
}

absl::Status CheckNumbers(const SqlRow& row) {
  const struct {
    const char* column;
    int index;
    int64_t least;
    int64_t most;
  } ranges[] = {
      {"priority", 1, std::numeric_limits<int32_t>::min(),
       std::numeric_limits<int32_t>::max()},
      {"state", 2, 0, kLastState},
      {"cancel_wanted", 3, 0, 1},
      {"num_attempts", 4, 0, kMaxAttempts},
      {"error_code", 9, 0, kLastCode},
      {"losses", 12, 0, kMaxAttempts},
  };
  for (const auto& range : ranges) {
    TANGRAM_RETURN_IF_ERROR(CheckRange(range.column, row.Int(range.index),
                                       range.least, range.most));
  }
  const bool has_ended = row.Double(8) > 0;
  if (has_ended == IsFinished(StateOf(row.Int(2)))) {
    if (has_ended || row.Int(9) == 0) return absl::OkStatus();
    return FieldError("error_code", row.Int(9), "0, as the job has not ended");
  }
  return FieldError("state", row.Int(2),
                    has_ended ? "that of a job that ended"
                              : "that of a job that has not ended");
}

// Returns whether a seal is the one of its columns, or may lack.
bool Holds(absl::string_view seal, absl::string_view expected, Seals seals) {
  return seal == expected || (seal.empty() && seals == Seals::kIfPresent);
}

absl::Status CheckRow(const Job& job, absl::string_view row_seal, Seals seals) {
  if (Holds(row_seal, RowSeal(job), seals)) return absl::OkStatus();
  return absl::DataLossError(
      "state, cancel_wanted, num_attempts, losses, owner, submitted_s, "
      "started_s, finished_s, labels, deadline_s, keep_s, webhook or ran_s: "
      "they have another checksum");
}

absl::Status CheckSeals(const Job& job, absl::string_view submit_seal,
                        absl::string_view outcome_seal, Seals seals) {
  if (!Holds(submit_seal, SubmitSeal(job), seals)) {
    return absl::DataLossError("request: it has another checksum");
  }
  if (!IsFinished(job.state) && !job.result.empty()) {
    return absl::DataLossError("result: the job has not ended");
  }
  if (Holds(outcome_seal, OutcomeSeal(job), seals)) return absl::OkStatus();
  return absl::DataLossError("result: it has another checksum");
}

// Returns an id that messages and terminals can take. A colon is in no name
// that users give.
std::string TextOf(const std::string& id) {
  if (id.size() <= kMaxIdBytes &&
      std::all_of(id.begin(), id.end(), absl::ascii_isprint)) {
    return id;
  }
  return absl::StrCat("damaged:",
                      absl::BytesToHexString(Sha256()(id).view().substr(0, 8)));
}

Job DamagedJob(Job job, const absl::Status& damage) {
  std::string id = TextOf(job.id);
  absl::Status error = absl::DataLossError(absl::StrCat(
      "job \"", id, "\" is damaged in the database: ", damage.message(),
      "; submit it again under another name"));
  return {.id = std::move(id),
          .sequence = job.sequence,
          .request = std::move(job.request),
          .share_key = std::move(job.share_key),
          .state = JobState::kFailed,
          .submitted_s = job.submitted_s,
          .started_s = job.started_s,
          .finished_s = job.finished_s,
          .error = std::move(error)};
}

// Reads the numbers as they are.
Job Read(const SqlRow& row) {
  return {.id = row.String(0),
          .sequence = row.Int(19),
          .priority = static_cast<int>(row.Int(1)),
          .share_key = row.String(11),
          .state = StateOf(row.Int(2)),
          .cancel_requested = row.Int(3) != 0,
          .attempts = static_cast<int>(row.Int(4)),
          .losses = static_cast<int>(row.Int(12)),
          .owner = row.String(5),
          .submitted_s = row.Double(6),
          .started_s = row.Double(7),
          .finished_s = row.Double(8),
          .error = absl::Status(static_cast<absl::StatusCode>(row.Int(9)),
                                row.String(10)),
          .labels = LabelsOf(row.String(14)),
          .deadline_s = row.Double(15),
          .keep_s = row.Double(16),
          .webhook = row.String(17),
          .ran_s = row.Double(18)};
}

std::string SealOf(std::initializer_list<absl::string_view> texts,
                   std::initializer_list<int64_t> numbers) {
  std::string bytes;
  for (const absl::string_view text : texts) AppendCanonical(bytes, text);
  for (const int64_t number : numbers) AppendCanonical(bytes, number);
  return std::string(Sha256()(bytes).view());
}

}  // namespace

std::string SubmitSeal(const Job& job) {
  return SealOf({kRequestFormat, job.id, job.share_key, job.request},
                {job.priority});
}

std::string OutcomeSeal(const Job& job) {
  if (!IsFinished(job.state)) return "";
  return SealOf({kOutcomeFormat, job.id, job.result, job.error.message()},
                {static_cast<int64_t>(job.state),
                 static_cast<int64_t>(job.error.code())});
}

std::string LabelText(const std::map<std::string, std::string>& labels) {
  return absl::StrJoin(labels, "\n", absl::PairFormatter("="));
}

std::map<std::string, std::string> LabelsOf(absl::string_view text) {
  std::map<std::string, std::string> labels;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> label =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    labels.insert(label);
  }
  return labels;
}

std::string RowSeal(const Job& job) {
  const absl::string_view format = IsFinished(job.state) ? kEndFormat
                                   : job.state == JobState::kRunning
                                       ? kRunningFormat
                                       : kQueuedFormat;
  std::string seal =
      SealOf({format, job.id, job.owner},
             {job.cancel_requested ? 1 : 0, job.attempts, job.losses,
              std::bit_cast<int64_t>(job.submitted_s),
              std::bit_cast<int64_t>(job.started_s),
              std::bit_cast<int64_t>(job.finished_s)});
  const bool has_settings = !job.labels.empty() || job.deadline_s != 0 ||
                            job.keep_s != 0 || !job.webhook.empty() ||
                            job.ran_s != 0;
  // Rows of earlier formats have none, and keep their seals.
  if (!has_settings) return seal;
  return SealOf(
      {kSettingsFormat, seal, LabelText(job.labels), job.webhook},
      {std::bit_cast<int64_t>(job.deadline_s),
       std::bit_cast<int64_t>(job.keep_s), std::bit_cast<int64_t>(job.ran_s)});
}

JobState StateOf(int64_t number) {
  return number >= 0 && number <= kLastState ? static_cast<JobState>(number)
                                             : JobState::kFailed;
}

StoredJob JobOf(const SqlRow& row) {
  Job job = Read(row);
  absl::Status damage = CheckNumbers(row);
  if (damage.ok()) {
    damage = CheckRow(job, row.String(kRowSealColumn), Seals::kRequired);
  }
  if (damage.ok()) return {.job = std::move(job)};
  return {.job = DamagedJob(std::move(job), damage), .is_damaged = true};
}

StoredJob WholeJobOf(const SqlRow& row, Seals seals) {
  Job job = Read(row);
  job.request = row.String(kNumJobColumns);
  job.result = row.String(kNumJobColumns + 1);
  absl::Status damage = CheckNumbers(row);
  if (damage.ok()) {
    damage = CheckSeals(job, row.String(kNumJobColumns + 2),
                        row.String(kNumJobColumns + 3), seals);
  }
  if (damage.ok()) damage = CheckRow(job, row.String(kRowSealColumn), seals);
  if (damage.ok()) return {.job = std::move(job)};
  return {.job = DamagedJob(std::move(job), damage), .is_damaged = true};
}

}  // namespace tangram
