#include "coordinator/coordinator_state.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/obs/log.h"
#include "coordinator/store/answer_place.h"
#include "coordinator/store/postgres_database.h"
#include "coordinator/store/sql_answer_store.h"
#include "coordinator/store/sql_job_store.h"
#include "coordinator/store/sqlite_database.h"

namespace tangram {
namespace {

std::string JobFile(const StatePlace& place) {
  return absl::StrCat(place.state_dir, "/jobs.db");
}

std::string AnswerFile(const StatePlace& place) {
  return absl::StrCat(place.state_dir, "/answers.db");
}

AnswerPlace AnswersOf(const StatePlace& place) {
  return place.database.empty() ? AnswersInFile(AnswerFile(place))
                                : AnswersInPostgres(place.database);
}

AnswerStoreOptions StoreOptions(const StatePlace& place,
                                AnswerStoreObserver* observer) {
  return {.max_bytes = place.stored_answers_bytes,
          .version = Version(),
          .observer = observer};
}

// Creates the folder for its owner alone, and takes the files in it away from
// others: they tell what tenants ask. A folder that is there stays as it is.
absl::Status MakeFolder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::create_directories(folder, error) && !error) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("--state_dir: ", folder, ": ", error.message()));
  }
  for (const fs::directory_entry& file :
       fs::directory_iterator(folder, error)) {
    const std::string name = file.path().filename();
    if (!absl::StartsWith(name, "jobs.db") &&
        !absl::StartsWith(name, "answers.db")) {
      continue;
    }
    // If the file is another user's, the database says what is wrong.
    std::error_code ignored;
    if (!file.is_regular_file(ignored)) continue;
    fs::permissions(file.path(), fs::perms::owner_read | fs::perms::owner_write,
                    ignored);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<JobStore>> OpenCheckedJobs(
    const std::string& file) {
  TANGRAM_ASSIGN_OR_RETURN(auto database, OpenSqliteDatabase(file));
  TANGRAM_RETURN_IF_ERROR(CheckSqliteStructure(*database));
  return CreateSqlJobStore(std::move(database));
}

absl::StatusOr<std::unique_ptr<JobStore>> OpenJobFile(const std::string& file) {
  auto jobs = OpenCheckedJobs(file);
  if (jobs.ok()) return jobs;
  const absl::Status& status = jobs.status();
  // The file is in use, full, or of a later version. The message says so.
  const bool is_sound = absl::IsUnavailable(status) ||
                        absl::IsResourceExhausted(status) ||
                        absl::IsFailedPrecondition(status);
  if (is_sound) {
    return absl::Status(status.code(),
                        absl::StrCat(file, ": ", status.message()));
  }
  return JobsAreDamaged(file, status);
}

// Returns null, with a word in the log, if no database can be had: answers are
// a cache, and plans need none. A server that is away is waited for by who
// starts the coordinator, as for jobs.
absl::StatusOr<std::unique_ptr<AnswerStore>> OpenAnswers(
    const StatePlace& place, AnswerStoreMetrics& metrics) {
  auto answers =
      CreateSqlAnswerStore(AnswersOf(place), StoreOptions(place, &metrics));
  if (answers.ok()) return answers;
  const absl::Status& status = answers.status();
  if (!place.database.empty() && absl::IsUnavailable(status)) return status;
  metrics.OnMissing();
  Log(LogLevel::kError, "no database of answers; they are kept in memory alone",
      {{"database",
        place.database.empty() ? AnswerFile(place) : std::string("--database")},
       {"reason", status.ToString()}});
  return nullptr;
}

}  // namespace

absl::Status JobsAreDamaged(const std::string& jobs_at,
                            const absl::Status& reason) {
  return absl::DataLossError(absl::StrCat(
      jobs_at, ": the database of jobs is damaged: ", reason.message(),
      "; restore it from a backup, or move it away to start without jobs"));
}

absl::StatusOr<CoordinatorState> OpenState(const StatePlace& place,
                                           Metrics& metrics) {
  CoordinatorState state;
  // Counters that alerts watch begin at zero, also where nothing is stored.
  state.answer_metrics = std::make_unique<AnswerStoreMetrics>(metrics);
  if (!place.database.empty()) {
    state.jobs_at = "--database";
    TANGRAM_ASSIGN_OR_RETURN(auto jobs, OpenPostgresDatabase(place.database));
    auto store = CreateSqlJobStore(std::move(jobs));
    if (absl::IsDataLoss(store.status())) {
      return JobsAreDamaged(state.jobs_at, store.status());
    }
    TANGRAM_ASSIGN_OR_RETURN(state.jobs, std::move(store));
  } else if (!place.state_dir.empty()) {
    TANGRAM_RETURN_IF_ERROR(MakeFolder(place.state_dir));
    state.jobs_at = JobFile(place);
    TANGRAM_ASSIGN_OR_RETURN(state.jobs, OpenJobFile(state.jobs_at));
  } else {
    state.jobs_at = "memory";
    TANGRAM_ASSIGN_OR_RETURN(auto memory, OpenSqliteDatabase(":memory:"));
    TANGRAM_ASSIGN_OR_RETURN(state.jobs, CreateSqlJobStore(std::move(memory)));
    return state;
  }
  TANGRAM_ASSIGN_OR_RETURN(state.answers,
                           OpenAnswers(place, *state.answer_metrics));
  return state;
}

absl::StatusOr<int64_t> PurgeStoredAnswers(const StatePlace& place) {
  if (place.state_dir.empty() && place.database.empty()) {
    return absl::InvalidArgumentError(
        "--purge_answers: nothing is kept; expected --state_dir or --database");
  }
  if (place.database.empty()) {
    TANGRAM_RETURN_IF_ERROR(MakeFolder(place.state_dir));
  }
  return PurgeAnswers(AnswersOf(place), StoreOptions(place, nullptr));
}

}  // namespace tangram
