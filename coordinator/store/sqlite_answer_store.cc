#include "coordinator/store/sqlite_answer_store.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/store/sqlite_database.h"

namespace tangram {
namespace {

// Answers of an older format are forgotten.
constexpr char kSchema[] = R"(
  CREATE TABLE IF NOT EXISTS answers_1 (
    sequence INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE,
    answer BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS made_by (version TEXT NOT NULL UNIQUE);
)";
// How many bytes are written between looks at the size.
constexpr int64_t kTrimIntervalBytes = 4 << 20;
// While the disk is full, answers wait here up to so many, then are dropped.
constexpr size_t kMaxWaiting = 100'000;

class SqliteAnswerStore : public AnswerStore {
 public:
  SqliteAnswerStore(std::unique_ptr<SqliteDatabase> database, int64_t max_bytes)
      : database_(std::move(database)), max_bytes_(max_bytes) {}

  ~SqliteAnswerStore() override {
    if (!writer_.joinable()) return;
    {
      const std::lock_guard lock(waiting_mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    writer_.join();
  }

  absl::Status Start(const std::string& version) {
    // A lost answer is asked again; it need not reach the disk at once.
    TANGRAM_RETURN_IF_ERROR(
        database_->RunScript("PRAGMA synchronous = NORMAL;"));
    TANGRAM_RETURN_IF_ERROR(database_->RunScript(kSchema));
    TANGRAM_RETURN_IF_ERROR(ForgetOthers(version));
    writer_ = std::thread([this] { Write(); });
    return absl::OkStatus();
  }

  std::vector<std::optional<Answer>> Find(
      absl::Span<const Fingerprint> keys) override {
    std::vector<std::optional<Answer>> answers(keys.size());
    const std::lock_guard lock(database_mutex_);
    for (size_t i = 0; i < keys.size(); ++i) {
      const absl::Status status = database_->Run(
          "SELECT answer FROM answers_1 WHERE key = ?",
          {static_cast<int64_t>(keys[i])},
          [&](const SqlRow& row) { answers[i] = Decode(row.String(0)); });
      if (!status.ok()) Complain(status);
    }
    return answers;
  }

  void Insert(Fingerprint key, const Answer& answer) override {
    std::string bytes = SerializeAnswer(answer);
    {
      const std::lock_guard lock(waiting_mutex_);
      if (waiting_.size() >= kMaxWaiting) return;
      waiting_.emplace_back(key, std::move(bytes));
    }
    wake_.notify_one();
  }

 private:
  absl::Status ForgetOthers(const std::string& version) {
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("DELETE FROM answers_1 WHERE NOT EXISTS "
                       "(SELECT 1 FROM made_by WHERE version = ?)",
                       {version}));
    TANGRAM_RETURN_IF_ERROR(database_->Run("DELETE FROM made_by"));
    return database_->Run("INSERT INTO made_by VALUES (?)", {version});
  }

  using Encoded = std::pair<Fingerprint, std::string>;

  // Empty for what another version has written.
  static std::optional<Answer> Decode(const std::string& bytes) {
    absl::StatusOr<Answer> answer = ParseAnswer(bytes);
    if (!answer.ok()) return std::nullopt;
    return *std::move(answer);
  }

  static void Complain(const absl::Status& status) {
    Log(LogLevel::kWarning, "answers are not kept",
        {{"reason", status.ToString()}});
  }

  void Write() {
    std::unique_lock lock(waiting_mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::vector<Encoded> batch = std::exchange(waiting_, {});
      lock.unlock();
      if (absl::Status status = WriteBatch(batch); !status.ok()) {
        Complain(status);
      }
      lock.lock();
    }
  }

  absl::Status WriteBatch(const std::vector<Encoded>& batch) {
    const std::lock_guard lock(database_mutex_);
    TANGRAM_RETURN_IF_ERROR(
        database_->Transact([&] { return InsertAll(batch); }));
    if (since_trim_bytes_ < kTrimIntervalBytes) return absl::OkStatus();
    since_trim_bytes_ = 0;
    return Trim();
  }

  absl::Status InsertAll(const std::vector<Encoded>& batch) {
    for (const auto& [key, bytes] : batch) {
      TANGRAM_RETURN_IF_ERROR(
          database_->Run("INSERT INTO answers_1 (key, answer) VALUES (?, ?) "
                         "ON CONFLICT (key) DO NOTHING",
                         {static_cast<int64_t>(key), Blob{bytes}}));
      since_trim_bytes_ += static_cast<int64_t>(bytes.size());
    }
    return absl::OkStatus();
  }

  // Drops the oldest tenth while there are too many bytes.
  absl::Status Trim() {
    while (true) {
      int64_t bytes = 0;
      TANGRAM_RETURN_IF_ERROR(database_->Run(
          "SELECT COALESCE(SUM(LENGTH(answer)), 0) FROM answers_1", {},
          [&](const SqlRow& row) { bytes = row.Int(0); }));
      if (bytes <= max_bytes_) return absl::OkStatus();
      TANGRAM_RETURN_IF_ERROR(database_->Run(
          "DELETE FROM answers_1 WHERE sequence <= (SELECT MIN(sequence) + "
          "(MAX(sequence) - MIN(sequence)) / 10 FROM answers_1)"));
    }
  }

  std::mutex database_mutex_;
  const std::unique_ptr<SqliteDatabase> database_;
  const int64_t max_bytes_;
  int64_t since_trim_bytes_ = 0;

  std::mutex waiting_mutex_;
  std::condition_variable wake_;
  std::vector<Encoded> waiting_;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerStore>> OpenSqliteAnswerStore(
    const std::string& path, int64_t max_bytes, const std::string& version) {
  TANGRAM_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database,
                           SqliteDatabase::Open(path));
  auto store =
      std::make_unique<SqliteAnswerStore>(std::move(database), max_bytes);
  TANGRAM_RETURN_IF_ERROR(store->Start(version));
  return store;
}

}  // namespace tangram
