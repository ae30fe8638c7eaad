#include "coordinator/store/sql_answer_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "coordinator/store/answer_table.h"
#include "coordinator/store/stored_answer.h"

namespace tangram {
namespace {

// A check of the size reads the whole database. So it waits until a part of the
// room that was left is written. Other coordinators write too, so it is the
// eighth part, but at least so many bytes, by which the database may exceed its
// limit.
constexpr int64_t kLeastTrimIntervalBytes = 4 << 20;
constexpr int64_t kTrimsOfRoom = 8;
// While the database cannot be written, at most this many bytes of answers
// wait; the rest are dropped. The writer tries again at this interval.
constexpr int64_t kMaxWaitingBytes = 64 << 20;
constexpr std::chrono::seconds kRetryInterval(1);
// Transactions that a caller of Insert writes at most.
constexpr int kMaxRounds = 4;
// Aims at this many rows in a transaction: few transactions, none of which
// makes other writers wait long. The rows of one Insert stay together.
constexpr size_t kMaxRows = 1000;
// After a slower write, callers of Insert leave writing to the writer thread: a
// worker whose stream stalls would be taken for dead.
constexpr std::chrono::milliseconds kQuickWrite(500);

class SqlAnswerStore : public AnswerStore {
 public:
  SqlAnswerStore(AnswerPlace place, AnswerStoreOptions options)
      : options_(std::move(options)),
        is_shared_(place.is_shared),
        table_(std::move(place), options_.version,
               [this](const std::string& path, const absl::Status& reason) {
                 OnSetAside(path, reason);
               }) {}

  ~SqlAnswerStore() override {
    if (!writer_.joinable()) return;
    {
      const MutexLock lock(waiting_mutex_);
      stopping_ = true;
    }
    wake_.NotifyAll();
    writer_.join();
  }

  absl::Status Start() {
    const MutexLock lock(table_mutex_);
    TANGRAM_RETURN_IF_ERROR(table_.Open());
    if (table_.has_dropped_old_format()) {
      Log(LogLevel::kInfo,
          "stored answers of an earlier format were deleted; they will be "
          "asked again",
          {});
    }
    writer_ = std::thread([this] { Write(); });
    return absl::OkStatus();
  }

  // Called instead of Start.
  absl::StatusOr<int64_t> Purge() {
    const MutexLock lock(table_mutex_);
    TANGRAM_RETURN_IF_ERROR(table_.Open());
    return table_.DeleteAll();
  }

  std::vector<std::optional<Answer>> Find(
      absl::Span<const Question> questions) override {
    std::vector<std::optional<Answer>> answers(questions.size());
    const absl::Status status = FindAll(questions, answers);
    if (!status.ok()) cannot_read_.Tell(status.ToString());
    if (IsAway(status)) {
      const MutexLock lock(waiting_mutex_);
      Note(status);
      wake_.NotifyAll();
    }
    return answers;
  }

  void Drop(const QueryKey& key, const absl::Status& reason) override {
    NoteDropped(kWrongAnswer, reason.message());
    if (is_away_) return;
    const MutexLock lock(table_mutex_);
    const absl::Status status = table_.Delete(key.view());
    if (!status.ok()) cannot_write_.Tell(status.ToString());
  }

  void Insert(const std::vector<AnsweredQuestion>& answers,
              std::function<void()> on_settled) override {
    Inserted inserted;
    for (const AnsweredQuestion& answered : answers) {
      inserted.rows.push_back(Seal(options_.version, answered));
    }
    const MutexLock lock(waiting_mutex_);
    if (waiting_bytes_ + NumBytes(inserted) > kMaxWaitingBytes) {
      inserted.rows.clear();
    }
    waiting_bytes_ += NumBytes(inserted);
    if (is_failing_) {
      if (!inserted.rows.empty()) waiting_.push_back(std::move(inserted));
      const MutexUnlock unlock(waiting_mutex_);
      on_settled();
      return;
    }
    inserted.on_settled = std::move(on_settled);
    waiting_.push_back(std::move(inserted));
    // Writes in this thread: waking another takes longer, on a busy machine far
    // longer. So do the answers that others left meanwhile.
    for (int i = 0; i < kMaxRounds && !is_writing_ && !waiting_.empty() &&
                    is_quick_ && !is_failing_;
         ++i) {
      WriteWaiting();
    }
    if (HasWork()) wake_.NotifyAll();
  }

 private:
  struct Inserted {
    std::vector<StoredAnswer> rows;
    std::function<void()> on_settled;  // Null once called.
  };

  static int64_t NumBytes(const Inserted& inserted) {
    int64_t bytes = 0;
    for (const StoredAnswer& row : inserted.rows) {
      bytes += static_cast<int64_t>(sizeof(row) + row.num_bytes());
    }
    return bytes;
  }

  void OnSetAside(const std::string& path, const absl::Status& reason) {
    Log(LogLevel::kWarning,
        "the database of answers is damaged and was set aside; answers are "
        "asked again",
        {{"file", path}, {"reason", reason.ToString()}});
    if (options_.observer != nullptr) options_.observer->OnSetAside();
  }

  void NoteDropped(absl::string_view reason, absl::string_view detail) {
    dropped_.Tell(absl::StrCat(reason, ": ", detail));
    if (options_.observer != nullptr) options_.observer->OnDropped(reason);
  }

  // Returns whether the database cannot be reached. A file is never away.
  bool IsAway(const absl::Status& status) const {
    return is_shared_ && absl::IsUnavailable(status);
  }

  // Finds the answers that are stored. Does not wait for a database that is
  // away; the writer finds out when it is back.
  absl::Status FindAll(absl::Span<const Question> questions,
                       std::vector<std::optional<Answer>>& answers) {
    // From key to the index of the question.
    absl::flat_hash_map<absl::string_view, size_t> index;
    index.reserve(questions.size());
    std::vector<absl::string_view> keys;
    for (size_t i = 0; i < questions.size(); ++i) {
      const bool is_new = index.try_emplace(questions[i].key.view(), i).second;
      if (is_new) keys.push_back(questions[i].key.view());
    }
    if (is_away_) return absl::OkStatus();
    const MutexLock lock(table_mutex_);
    if (is_away_) return absl::OkStatus();
    std::vector<AnswerTable::Row> rows;
    absl::Status status = table_.Find(keys, rows);
    for (const AnswerTable::Row& row : rows) {
      const auto it = index.find(row.stored.key);
      // A row under a key that was not asked for: an index of the database is
      // damaged.
      if (it != index.end())
        TakeRow(row, questions[it->second], answers[it->second]);
    }
    return status;
  }

  // Sets `answer` from a row, or deletes a row that is not as it was written.
  void TakeRow(const AnswerTable::Row& row, const Question& question,
               std::optional<Answer>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mutex_) {
    absl::StatusOr<Answer> found =
        Unseal(options_.version, question, row.stored);
    if (found.ok()) {
      answer = *std::move(found);
      return;
    }
    NoteDropped(found.status().message(), "the row is not as it was written");
    // It is not served even if this fails.
    table_.Delete(row.sequence).IgnoreError();
  }

  // Keeps what a call to the database showed about its state.
  void Note(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
    is_failing_ = !status.ok();
    is_away_ = IsAway(status);
  }

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
    return !is_writing_ && (!waiting_.empty() || must_trim_ || is_failing_);
  }

  // Takes the answers for one transaction.
  std::deque<Inserted> TakeWaiting()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
    std::deque<Inserted> taken;
    size_t num_rows = 0;
    while (!waiting_.empty() && num_rows < kMaxRows) {
      num_rows += waiting_.front().rows.size();
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return taken;
  }

  void Write() {
    const MutexLock lock(waiting_mutex_);
    while (true) {
      wake_.Wait(waiting_mutex_,
                 [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
                   return stopping_ || HasWork();
                 });
      if (!HasWork()) return;
      const bool written = WriteWaiting() && TrimIfDue();
      if (written) continue;
      if (stopping_) return;
      wake_.WaitFor(waiting_mutex_, kRetryInterval,
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
                      return stopping_;
                    });
    }
  }

  // Writes waiting answers and keeps those that cannot be written. Releases the
  // lock meanwhile. Returns whether they were written.
  bool WriteWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
    is_writing_ = true;
    std::deque<Inserted> taken = TakeWaiting();
    absl::Status status;
    bool is_quick = false;
    {
      const MutexUnlock unlock(waiting_mutex_);
      const auto began = std::chrono::steady_clock::now();
      status = WriteRows(taken);
      is_quick = std::chrono::steady_clock::now() - began <= kQuickWrite;
      if (!status.ok()) cannot_write_.Tell(status.ToString());
    }
    Note(status);
    is_quick_ = is_quick;
    if (!status.ok()) {
      // Callers do not wait for the next try.
      std::move(waiting_.begin(), waiting_.end(), std::back_inserter(taken));
      waiting_ = std::move(taken);
      Settle(waiting_);
    } else {
      for (const Inserted& inserted : taken) {
        waiting_bytes_ -= NumBytes(inserted);
        since_trim_bytes_ += NumBytes(inserted);
      }
      must_trim_ = since_trim_bytes_ >= trim_interval_bytes_;
      Settle(taken);
    }
    is_writing_ = false;
    return status.ok();
  }

  // Calls the callbacks that are left. Releases the lock meanwhile.
  void Settle(std::deque<Inserted>& all)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
    std::vector<std::function<void()>> to_call;
    for (Inserted& inserted : all) {
      if (inserted.on_settled) {
        to_call.push_back(std::exchange(inserted.on_settled, nullptr));
      }
    }
    const MutexUnlock unlock(waiting_mutex_);
    for (const auto& on_settled : to_call) on_settled();
  }

  // Writes the rows. If there are none, checks that the database can be
  // reached.
  absl::Status WriteRows(const std::deque<Inserted>& all) {
    std::vector<const StoredAnswer*> rows;
    for (const Inserted& inserted : all) {
      for (const StoredAnswer& row : inserted.rows) rows.push_back(&row);
    }
    const MutexLock lock(table_mutex_);
    return rows.empty() ? table_.Ping() : table_.Insert(std::move(rows));
  }

  // Trims the table if enough was written. Only the writer thread calls this,
  // because it takes long. Releases the lock meanwhile.
  bool TrimIfDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiting_mutex_) {
    if (!must_trim_) return true;
    is_writing_ = true;
    absl::StatusOr<int64_t> bytes = 0;
    {
      const MutexUnlock unlock(waiting_mutex_);
      bytes = Trim();
      if (!bytes.ok()) cannot_write_.Tell(bytes.status().ToString());
    }
    is_writing_ = false;
    if (!bytes.ok()) return false;
    must_trim_ = false;
    since_trim_bytes_ = 0;
    trim_interval_bytes_ = std::max(
        kLeastTrimIntervalBytes, (options_.max_bytes - *bytes) / kTrimsOfRoom);
    return true;
  }

  absl::StatusOr<int64_t> Trim() {
    const MutexLock lock(table_mutex_);
    return table_.Trim(options_.max_bytes);
  }

  const AnswerStoreOptions options_;
  const bool is_shared_;
  // Never taken with waiting_mutex_ held.
  Mutex table_mutex_;
  AnswerTable table_ ABSL_GUARDED_BY(table_mutex_);

  Mutex waiting_mutex_;
  ConditionVariable wake_;
  std::deque<Inserted> waiting_ ABSL_GUARDED_BY(waiting_mutex_);
  // Includes the bytes that are being written.
  int64_t waiting_bytes_ ABSL_GUARDED_BY(waiting_mutex_) = 0;
  // A thread is in WriteWaiting or TrimIfDue.
  bool is_writing_ ABSL_GUARDED_BY(waiting_mutex_) = false;
  // The last write failed; callers do not wait for the next.
  bool is_failing_ ABSL_GUARDED_BY(waiting_mutex_) = false;
  // The last call could not reach the database.
  std::atomic<bool> is_away_ = false;
  // The last write took at most kQuickWrite.
  bool is_quick_ ABSL_GUARDED_BY(waiting_mutex_) = true;
  int64_t since_trim_bytes_ ABSL_GUARDED_BY(waiting_mutex_) = 0;
  int64_t trim_interval_bytes_ ABSL_GUARDED_BY(waiting_mutex_) =
      kLeastTrimIntervalBytes;
  bool must_trim_ ABSL_GUARDED_BY(waiting_mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(waiting_mutex_) = false;
  SparseWarning cannot_read_{"answers cannot be read"};
  SparseWarning cannot_write_{"answers are not kept"};
  SparseWarning dropped_{"a stored answer was dropped"};
  std::thread writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerStore>> CreateSqlAnswerStore(
    AnswerPlace place, const AnswerStoreOptions& options) {
  auto store = std::make_unique<SqlAnswerStore>(std::move(place), options);
  TANGRAM_RETURN_IF_ERROR(store->Start());
  return store;
}

absl::StatusOr<int64_t> PurgeAnswers(AnswerPlace place,
                                     const AnswerStoreOptions& options) {
  SqlAnswerStore store(std::move(place), options);
  return store.Purge();
}

}  // namespace tangram
