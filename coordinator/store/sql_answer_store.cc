#include "coordinator/store/sql_answer_store.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"
#include "coordinator/store/answer_table.h"
#include "coordinator/store/stored_answer.h"

namespace tangram {
namespace {

// Bytes written between two checks of the size.
constexpr int64_t kTrimIntervalBytes = 4 << 20;
// While the database cannot be written, at most this many bytes of answers
// wait; the rest are dropped. The writer tries again at this interval.
constexpr int64_t kMaxWaitingBytes = 64 << 20;
constexpr std::chrono::seconds kRetryInterval(1);
// Aims at this many rows in a transaction. The rows of one Insert stay
// together.
constexpr size_t kMaxRows = 1000;
// After a slower write, callers of Insert leave writing to the writer thread: a
// worker whose stream stalls would be taken for dead.
constexpr std::chrono::milliseconds kQuickWrite(500);

class SqlAnswerStore : public AnswerStore {
 public:
  SqlAnswerStore(AnswerPlace place, AnswerStoreOptions options)
      : options_(std::move(options)),
        table_(std::move(place), options_.version,
               [this](const std::string& path, const absl::Status& reason) {
                 OnSetAside(path, reason);
               }) {}

  ~SqlAnswerStore() override {
    if (!writer_.joinable()) return;
    {
      const std::lock_guard lock(waiting_mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    writer_.join();
  }

  absl::Status Start() {
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
    TANGRAM_RETURN_IF_ERROR(table_.Open());
    return table_.DeleteAll();
  }

  std::vector<std::optional<Answer>> Find(
      absl::Span<const Question> questions) override {
    std::vector<std::optional<Answer>> answers(questions.size());
    const absl::Status status = FindAll(questions, answers);
    if (!status.ok()) cannot_read_.Tell(status.ToString());
    if (IsAway(status)) {
      const std::lock_guard lock(waiting_mutex_);
      Note(status);
      wake_.notify_all();
    }
    return answers;
  }

  void Drop(const QueryKey& key, const absl::Status& reason) override {
    NoteDropped(kWrongAnswer, reason.message());
    if (is_away_) return;
    const std::lock_guard lock(table_mutex_);
    const absl::Status status = table_.Delete(key.view());
    if (!status.ok()) cannot_write_.Tell(status.ToString());
  }

  void Insert(const std::vector<AnsweredQuestion>& answers,
              std::function<void()> on_settled) override {
    Inserted inserted;
    for (const AnsweredQuestion& answered : answers) {
      inserted.rows.push_back(Seal(options_.version, answered));
    }
    std::unique_lock lock(waiting_mutex_);
    if (waiting_bytes_ + NumBytes(inserted) > kMaxWaitingBytes) {
      inserted.rows.clear();
    }
    waiting_bytes_ += NumBytes(inserted);
    if (is_failing_) {
      if (!inserted.rows.empty()) waiting_.push_back(std::move(inserted));
      lock.unlock();
      on_settled();
      return;
    }
    inserted.on_settled = std::move(on_settled);
    waiting_.push_back(std::move(inserted));
    // Writes in this thread: waking another takes longer, on a busy machine far
    // longer.
    if (!is_writing_ && is_quick_) WriteWaiting(lock);
    if (HasWork()) wake_.notify_all();
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
    return table_.is_shared() && absl::IsUnavailable(status);
  }

  // Finds the answers that are stored. Does not wait for a database that is
  // away; the writer finds out when it is back.
  absl::Status FindAll(absl::Span<const Question> questions,
                       std::vector<std::optional<Answer>>& answers) {
    // From key to the index of the question.
    std::map<absl::string_view, size_t> index;
    std::vector<absl::string_view> keys;
    for (size_t i = 0; i < questions.size(); ++i) {
      const bool is_new = index.try_emplace(questions[i].key.view(), i).second;
      if (is_new) keys.push_back(questions[i].key.view());
    }
    if (is_away_) return absl::OkStatus();
    const std::lock_guard lock(table_mutex_);
    if (is_away_) return absl::OkStatus();
    std::vector<AnswerTable::Row> rows;
    const absl::Status status = table_.Find(keys, rows);
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
  // Needs table_mutex_.
  void TakeRow(const AnswerTable::Row& row, const Question& question,
               std::optional<Answer>& answer) {
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

  // Keeps what a call to the database showed about its state. This, HasWork and
  // TakeWaiting need waiting_mutex_.
  void Note(const absl::Status& status) {
    is_failing_ = !status.ok();
    is_away_ = IsAway(status);
  }

  bool HasWork() const {
    return !is_writing_ && (!waiting_.empty() || must_trim_ || is_failing_);
  }

  // Takes the answers for one transaction.
  std::deque<Inserted> TakeWaiting() {
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
    std::unique_lock lock(waiting_mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || HasWork(); });
      if (!HasWork()) return;
      const bool written = WriteWaiting(lock) && TrimIfDue(lock);
      if (written) continue;
      if (stopping_) return;
      wake_.wait_for(lock, kRetryInterval, [this] { return stopping_; });
    }
  }

  // Writes waiting answers and keeps those that cannot be written. Releases the
  // lock meanwhile. Returns whether they were written.
  bool WriteWaiting(std::unique_lock<std::mutex>& lock) {
    is_writing_ = true;
    std::deque<Inserted> taken = TakeWaiting();
    lock.unlock();
    const auto began = std::chrono::steady_clock::now();
    const absl::Status status = WriteRows(taken);
    const auto took = std::chrono::steady_clock::now() - began;
    if (!status.ok()) cannot_write_.Tell(status.ToString());
    lock.lock();
    Note(status);
    is_quick_ = took <= kQuickWrite;
    if (!status.ok()) {
      // Callers do not wait for the next try.
      std::move(waiting_.begin(), waiting_.end(), std::back_inserter(taken));
      waiting_ = std::move(taken);
      Settle(waiting_, lock);
    } else {
      for (const Inserted& inserted : taken) {
        waiting_bytes_ -= NumBytes(inserted);
        since_trim_bytes_ += NumBytes(inserted);
      }
      must_trim_ = since_trim_bytes_ >= kTrimIntervalBytes;
      Settle(taken, lock);
    }
    is_writing_ = false;
    return status.ok();
  }

  // Calls the callbacks that are left. Releases the lock meanwhile.
  static void Settle(std::deque<Inserted>& all,
                     std::unique_lock<std::mutex>& lock) {
    std::vector<std::function<void()>> to_call;
    for (Inserted& inserted : all) {
      if (inserted.on_settled) {
        to_call.push_back(std::exchange(inserted.on_settled, nullptr));
      }
    }
    lock.unlock();
    for (const auto& on_settled : to_call) on_settled();
    lock.lock();
  }

  // Writes the rows. If there are none, checks that the database can be
  // reached.
  absl::Status WriteRows(const std::deque<Inserted>& all) {
    std::vector<const StoredAnswer*> rows;
    for (const Inserted& inserted : all) {
      for (const StoredAnswer& row : inserted.rows) rows.push_back(&row);
    }
    const std::lock_guard lock(table_mutex_);
    return rows.empty() ? table_.Ping() : table_.Insert(std::move(rows));
  }

  // Trims the table if enough was written. Only the writer thread calls this,
  // because it takes long. Releases the lock meanwhile.
  bool TrimIfDue(std::unique_lock<std::mutex>& lock) {
    if (!must_trim_) return true;
    is_writing_ = true;
    lock.unlock();
    const absl::Status status = Trim();
    if (!status.ok()) cannot_write_.Tell(status.ToString());
    lock.lock();
    is_writing_ = false;
    if (!status.ok()) return false;
    must_trim_ = false;
    since_trim_bytes_ = 0;
    return true;
  }

  absl::Status Trim() {
    const std::lock_guard lock(table_mutex_);
    return table_.Trim(options_.max_bytes);
  }

  const AnswerStoreOptions options_;
  std::mutex table_mutex_;
  AnswerTable table_;

  std::mutex waiting_mutex_;
  std::condition_variable wake_;
  std::deque<Inserted> waiting_;
  int64_t waiting_bytes_ = 0;  // Includes what is being written.
  bool is_writing_ = false;    // A thread is in WriteWaiting or TrimIfDue.
  // The last write failed; callers do not wait for the next.
  bool is_failing_ = false;
  // The last call could not reach the database.
  std::atomic<bool> is_away_ = false;
  bool is_quick_ = true;  // The last write took at most kQuickWrite.
  int64_t since_trim_bytes_ = 0;
  bool must_trim_ = false;
  bool stopping_ = false;
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
