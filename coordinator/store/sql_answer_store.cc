#include "coordinator/store/sql_answer_store.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/obs/sparse_warning.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/store/migrate.h"

namespace tangram {
namespace {

constexpr char kTables[] = R"(
  CREATE TABLE answers (
    sequence {sequence},
    version TEXT NOT NULL,
    key BIGINT NOT NULL,
    answer {blob} NOT NULL,
    UNIQUE (version, key));
)";
// How many bytes are written between looks at the size.
constexpr int64_t kTrimIntervalBytes = 4 << 20;
// While the database cannot be written, so many answers wait here; the others
// are dropped. It is tried again so often.
constexpr size_t kMaxWaiting = 100'000;
constexpr std::chrono::seconds kRetryInterval(1);
// Rows of one statement: few sizes, so that few statements are prepared.
constexpr size_t kChunks[] = {128, 16, 1};

class SqlAnswerStore : public AnswerStore {
 public:
  SqlAnswerStore(std::unique_ptr<SqlDatabase> database, int64_t max_bytes,
                 std::string version)
      : database_(std::move(database)),
        max_bytes_(max_bytes),
        version_(std::move(version)) {}

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
    // What the system has outlives the process; answers that are lost with the
    // machine are asked again.
    TANGRAM_RETURN_IF_ERROR(database_->RelaxDurability());
    const SqlDialect& dialect = database_->dialect();
    const std::string tables = absl::StrReplaceAll(
        kTables, {{"{sequence}", dialect.sequence}, {"{blob}", dialect.blob}});
    TANGRAM_RETURN_IF_ERROR(Migrate(*database_, "answers", {&tables, 1}));
    writer_ = std::thread([this] { Write(); });
    return absl::OkStatus();
  }

  std::vector<std::optional<Answer>> Find(
      absl::Span<const Fingerprint> keys) override {
    std::map<Fingerprint, std::string> found;
    const std::lock_guard lock(database_mutex_);
    const absl::Status status =
        InChunks(keys, [&](absl::Span<const Fingerprint> chunk) {
          return FindChunk(chunk, found);
        });
    if (!status.ok()) cannot_read_.Tell(status.ToString());
    std::vector<std::optional<Answer>> answers;
    for (const Fingerprint key : keys) {
      const auto it = found.find(key);
      answers.push_back(it == found.end() ? std::nullopt : Decode(it->second));
    }
    return answers;
  }

  void Insert(const std::vector<KeyedAnswer>& answers,
              std::function<void()> on_settled) override {
    std::vector<Encoded> encoded;
    for (const auto& [key, answer] : answers) {
      encoded.emplace_back(key, SerializeAnswer(answer));
    }
    std::unique_lock lock(waiting_mutex_);
    if (waiting_.size() < kMaxWaiting) Append(std::move(encoded));
    if (is_failing_) {
      lock.unlock();
      on_settled();
      return;
    }
    unsettled_.push_back(std::move(on_settled));
    // Waking another thread for it takes longer, on a busy machine far longer.
    if (!is_writing_) WriteWaiting(lock);
    if (HasWork()) wake_.notify_all();
  }

 private:
  using Encoded = std::pair<Fingerprint, std::string>;

  // Empty for what was damaged.
  static std::optional<Answer> Decode(const std::string& bytes) {
    absl::StatusOr<Answer> answer = ParseAnswer(bytes);
    if (!answer.ok()) return std::nullopt;
    return *std::move(answer);
  }

  // Calls `handle` with parts of `all`.
  template <typename T, typename Handle>
  static absl::Status InChunks(absl::Span<const T> all, const Handle& handle) {
    for (const size_t size : kChunks) {
      for (; all.size() >= size; all.remove_prefix(size)) {
        TANGRAM_RETURN_IF_ERROR(handle(all.first(size)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindChunk(absl::Span<const Fingerprint> keys,
                         std::map<Fingerprint, std::string>& found) {
    std::string sql =
        "SELECT key, answer FROM answers WHERE version = ?1 AND key IN (";
    std::vector<SqlValue> values = {version_};
    for (const Fingerprint key : keys) {
      values.push_back(static_cast<int64_t>(key));
      absl::StrAppend(&sql, values.size() > 2 ? ", ?" : "?", values.size());
    }
    sql += ")";
    return database_->Run(sql, values, [&](const SqlRow& row) {
      found[static_cast<Fingerprint>(row.Int(0))] = row.String(1);
    });
  }

  // Expects the lock to be held.
  void Append(std::vector<Encoded> encoded) {
    std::move(encoded.begin(), encoded.end(), std::back_inserter(waiting_));
  }

  bool HasWork() const {
    return !is_writing_ && (!waiting_.empty() || must_trim_);
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

  // Gives the lock up meanwhile. Keeps what cannot be written.
  bool WriteWaiting(std::unique_lock<std::mutex>& lock) {
    is_writing_ = true;
    std::vector<Encoded> batch = std::exchange(waiting_, {});
    const auto settled = std::exchange(unsettled_, {});
    lock.unlock();
    const absl::Status status = WriteBatch(batch);
    if (!status.ok()) cannot_write_.Tell(status.ToString());
    for (const auto& on_settled : settled) on_settled();
    lock.lock();
    is_writing_ = false;
    is_failing_ = !status.ok();
    if (is_failing_) {
      Append(std::move(batch));
    } else {
      for (const auto& [key, bytes] : batch) {
        since_trim_bytes_ += static_cast<int64_t>(bytes.size());
      }
      must_trim_ = since_trim_bytes_ >= kTrimIntervalBytes;
    }
    return status.ok();
  }

  absl::Status WriteBatch(std::vector<Encoded>& batch) {
    if (batch.empty()) return absl::OkStatus();
    // So that coordinators that write the same do not wait for each other in a
    // circle.
    std::sort(batch.begin(), batch.end());
    const std::lock_guard lock(database_mutex_);
    return database_->Transact([&] {
      return InChunks(
          absl::MakeConstSpan(batch),
          [&](absl::Span<const Encoded> chunk) { return InsertChunk(chunk); });
    });
  }

  absl::Status InsertChunk(absl::Span<const Encoded> chunk) {
    std::string sql = "INSERT INTO answers (version, key, answer) VALUES ";
    std::vector<SqlValue> values = {version_};
    for (const auto& [key, bytes] : chunk) {
      values.push_back(static_cast<int64_t>(key));
      values.push_back(Blob{bytes});
      absl::StrAppend(&sql, values.size() > 3 ? ", " : "", "(?1, ?",
                      values.size() - 1, ", ?", values.size(), ")");
    }
    sql += " ON CONFLICT (version, key) DO NOTHING";
    return database_->Run(sql, values);
  }

  // Takes long, so the writer does it. Gives the lock up meanwhile.
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

  // Drops the oldest tenth while there are too many bytes.
  absl::Status Trim() {
    const std::lock_guard lock(database_mutex_);
    while (true) {
      int64_t bytes = 0;
      TANGRAM_RETURN_IF_ERROR(database_->Run(
          "SELECT CAST(COALESCE(SUM(LENGTH(answer)), 0) AS BIGINT) "
          "FROM answers",
          {}, [&](const SqlRow& row) { bytes = row.Int(0); }));
      if (bytes <= max_bytes_) return absl::OkStatus();
      TANGRAM_RETURN_IF_ERROR(database_->Run(
          "DELETE FROM answers WHERE sequence <= (SELECT MIN(sequence) + "
          "(MAX(sequence) - MIN(sequence)) / 10 FROM answers)"));
      if (database_->num_changed() == 0) return absl::OkStatus();
    }
  }

  std::mutex database_mutex_;
  const std::unique_ptr<SqlDatabase> database_;
  const int64_t max_bytes_;
  const std::string version_;

  std::mutex waiting_mutex_;
  std::condition_variable wake_;
  std::vector<Encoded> waiting_;
  std::vector<std::function<void()>> unsettled_;  // When these are written.
  bool is_writing_ = false;                       // One of the threads.
  bool is_failing_ = false;  // The last time. Nobody waits for the next.
  int64_t since_trim_bytes_ = 0;
  bool must_trim_ = false;
  bool stopping_ = false;
  SparseWarning cannot_read_{"answers cannot be read"};
  SparseWarning cannot_write_{"answers are not kept"};
  std::thread writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerStore>> CreateSqlAnswerStore(
    std::unique_ptr<SqlDatabase> database, int64_t max_bytes,
    const std::string& version) {
  auto store =
      std::make_unique<SqlAnswerStore>(std::move(database), max_bytes, version);
  TANGRAM_RETURN_IF_ERROR(store->Start());
  return store;
}

}  // namespace tangram
