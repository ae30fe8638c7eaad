#include "coordinator/store/postgres_database.h"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "coordinator/store/postgres_connection.h"

namespace tangram {
namespace {

using Clock = std::chrono::steady_clock;

// Time between attempts to connect, which doubles. Short compared with the
// lease of a job, so that no job is lost while a database restarts.
constexpr std::chrono::milliseconds kMinBackoff(100);
constexpr std::chrono::milliseconds kMaxBackoff(1000);

// A client that stops in the middle of a transaction must not keep its locks.
constexpr char kIdleInTransaction[] = "2s";
// The server's statement timeout as a fraction of ours. A server that is alive
// gives up first, and the connection stays.
constexpr double kServersShare = 0.8;

// Object ids of types, from pg_type.dat of PostgreSQL. They never change.
constexpr Oid kBytes = 17;
constexpr Oid kInt64 = 20;
constexpr Oid kText = 25;
constexpr Oid kDouble = 701;
constexpr int kAsText = 0;
constexpr int kAsBytes = 1;

constexpr SqlDialect kDialect = {
    .sequence = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    .blob = "BYTEA",
    .skip_locked = "FOR UPDATE OF jobs SKIP LOCKED",
    .for_update = "FOR UPDATE",
    .lock_schema = kLockSchemaSql,
    .now = "CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) AS DOUBLE PRECISION)",
    .has_types = true,
    .is_shared = true};

// Transient errors, by the beginning of their code (appendix A of PostgreSQL's
// manual): lost connections, a standby, a transaction that took too long or met
// another one, a server that goes down or cannot read its files.
constexpr const char* kPassing[] = {"08",    "25006", "25P03", "40",
                                    "53300", "55P03", "57",    "58"};
// Lack of disk space or memory.
constexpr char kExhausted[] = "53";
// Text that is not UTF-8 or holds a NUL.
constexpr char kBadText[] = "22021";

// `sqlstate` is empty if the connection was lost.
absl::StatusCode CodeOf(absl::string_view sqlstate) {
  if (sqlstate.empty()) return absl::StatusCode::kUnavailable;
  for (const char* passing : kPassing) {
    if (absl::StartsWith(sqlstate, passing)) {
      return absl::StatusCode::kUnavailable;
    }
  }
  if (absl::StartsWith(sqlstate, kExhausted)) {
    return absl::StatusCode::kResourceExhausted;
  }
  return sqlstate == kBadText ? absl::StatusCode::kInvalidArgument
                              : absl::StatusCode::kInternal;
}

// Joins the lines of a message of libpq.
std::string OneLine(absl::string_view message) {
  return absl::StrReplaceAll(absl::StripTrailingAsciiWhitespace(message),
                             {{"\n\t", " "}, {"\n", " "}});
}

absl::Status Failed(absl::StatusCode code, const char* message,
                    const std::string& doing) {
  return absl::Status(
      code, absl::StrCat("database: ", OneLine(message), " (", doing, ")"));
}

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultDeleter>;

// A row of a result in binary format, in which numbers are big-endian.
class PostgresRow : public SqlRow {
 public:
  PostgresRow(const PGresult* result, int row) : result_(result), row_(row) {}

  int64_t Int(int column) const override {
    const int length = PQgetlength(result_, row_, column);
    const uint64_t bits = Bits(column);
    return length == sizeof(int32_t) ? static_cast<int32_t>(bits)
                                     : static_cast<int64_t>(bits);
  }
  double Double(int column) const override {
    return std::bit_cast<double>(Bits(column));
  }
  std::string String(int column) const override {
    return std::string(PQgetvalue(result_, row_, column),
                       PQgetlength(result_, row_, column));
  }

 private:
  uint64_t Bits(int column) const {
    uint64_t bits = 0;
    for (const unsigned char byte : String(column)) bits = bits << 8 | byte;
    return bits;
  }

  const PGresult* result_;
  int row_;
};

// Values in the form that libpq takes. They must outlive this object.
class Parameters {
 public:
  explicit Parameters(absl::Span<const SqlValue> values) {
    numbers_.reserve(values.size());
    for (const SqlValue& value : values) std::visit(*this, value);
  }

  void operator()(int64_t value) {
    Add(kInt64, kAsText, numbers_.emplace_back(absl::StrCat(value)));
  }
  void operator()(double value) {
    Add(kDouble, kAsText,
        numbers_.emplace_back(absl::StrFormat("%.17g", value)));
  }
  void operator()(absl::string_view text) { Add(kText, kAsBytes, text); }
  void operator()(const Blob& blob) { Add(kBytes, kAsBytes, blob.bytes); }

  bool Send(PGconn* connection, const std::string& sql) const {
    return PQsendQueryParams(connection, sql.c_str(),
                             static_cast<int>(types_.size()), types_.data(),
                             values_.data(), lengths_.data(), formats_.data(),
                             /*resultFormat=*/kAsBytes) == 1;
  }

 private:
  void Add(Oid type, int format, absl::string_view bytes) {
    types_.push_back(type);
    formats_.push_back(format);
    // A null pointer would mean NULL.
    values_.push_back(bytes.empty() ? "" : bytes.data());
    lengths_.push_back(static_cast<int>(bytes.size()));
  }

  std::vector<std::string> numbers_;
  std::vector<Oid> types_;
  std::vector<int> formats_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
};

class PostgresDatabase : public SqlDatabase {
 public:
  PostgresDatabase(std::string connection, std::chrono::milliseconds timeout)
      : connection_string_(std::move(connection)), timeout_(timeout) {}
  ~PostgresDatabase() override { PQfinish(connection_); }

  const SqlDialect& dialect() const override { return kDialect; }

  using SqlDatabase::Run;
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    TANGRAM_RETURN_IF_ERROR(MakeReady());
    const bool sent = Parameters(values).Send(
        connection_, absl::StrReplaceAll(sql, {{"?", "$"}}));
    TANGRAM_ASSIGN_OR_RETURN(const Result result, Receive(sent, sql));
    num_changed_ = 0;
    if (!absl::SimpleAtoi(PQcmdTuples(result.get()), &num_changed_)) {
      num_changed_ = 0;  // The statement changes no rows.
    }
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      on_row(PostgresRow(result.get(), row));
    }
    return absl::OkStatus();
  }

  absl::Status RunScript(const std::string& sql) override {
    TANGRAM_RETURN_IF_ERROR(MakeReady());
    return Execute(sql);
  }

  absl::Status Transact(absl::FunctionRef<absl::Status()> body) override {
    TANGRAM_RETURN_IF_ERROR(Run("BEGIN"));
    in_transaction_ = true;
    absl::Status status = body();
    if (status.ok()) status = Run("COMMIT");
    in_transaction_ = false;
    // Without a connection there is nothing to roll back.
    if (!status.ok() && PQstatus(connection_) == CONNECTION_OK) {
      Run("ROLLBACK").IgnoreError();
    }
    return status;
  }

  int64_t num_changed() const override { return num_changed_; }

  absl::Status RelaxDurability() override {
    synchronous_commit_ = "off;";
    return RunScript(Session());
  }

  // Connects if there is no connection, unless the last attempt has just
  // failed.
  absl::Status MakeReady() {
    // On an idle connection, only notices and the end can be read.
    while (PQstatus(connection_) == CONNECTION_OK && IsReadable()) {
      PQconsumeInput(connection_);
    }
    if (PQstatus(connection_) == CONNECTION_OK) return absl::OkStatus();
    if (in_transaction_) {
      return absl::UnavailableError("database: the connection was lost");
    }
    if (Clock::now() < next_attempt_) return last_failure_;
    last_failure_ = Connect();
    if (last_failure_.ok()) {
      backoff_ = kMinBackoff;
    } else {
      next_attempt_ = Clock::now() + backoff_;
      backoff_ = std::min(2 * backoff_, kMaxBackoff);
    }
    return last_failure_;
  }

 private:
  bool IsReadable() const {
    pollfd socket = {.fd = PQsocket(connection_), .events = POLLIN};
    return poll(&socket, 1, /*timeout=*/0) > 0;
  }

  std::string Session() const {
    return absl::StrCat(
        "SET idle_in_transaction_session_timeout = '", kIdleInTransaction,
        "'; SET statement_timeout = ",
        static_cast<int64_t>(kServersShare *
                             static_cast<double>(timeout_.count())),
        "; SET synchronous_commit = ", synchronous_commit_);
  }

  absl::Status Connect() {
    PQfinish(connection_);
    connection_ = ConnectToPostgres(connection_string_);
    if (PQstatus(connection_) != CONNECTION_OK) {
      return Failed(absl::StatusCode::kUnavailable, PQerrorMessage(connection_),
                    "connecting");
    }
    // Otherwise sending and closing could block on a server that does not read.
    PQsetnonblocking(connection_, 1);
    return Execute(Session());
  }

  absl::Status Execute(const std::string& sql) {
    const bool sent = PQsendQuery(connection_, sql.c_str()) == 1;
    return Receive(sent, sql).status();
  }

  // Returns the last result of what was sent. TCP does not notice that a server
  // hangs, so a timeout closes the connection.
  absl::StatusOr<Result> Receive(bool sent, const std::string& sql) {
    const Clock::time_point deadline = Clock::now() + timeout_;
    Result last;
    while (sent) {
      if (!AwaitResult(deadline)) {
        PQfinish(std::exchange(connection_, nullptr));
        return Failed(absl::StatusCode::kUnavailable, "does not answer", sql);
      }
      Result next(PQgetResult(connection_));
      if (next == nullptr) break;
      last = std::move(next);
    }
    TANGRAM_RETURN_IF_ERROR(Check(last, sql));
    return last;
  }

  // Sends the rest and reads until there is a result, which may be that the
  // connection was lost. Returns false if the deadline passes first.
  bool AwaitResult(Clock::time_point deadline) {
    while (true) {
      const bool is_sending = PQflush(connection_) == 1;
      if (!is_sending && PQisBusy(connection_) == 0) return true;
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return false;
      pollfd socket = {
          .fd = PQsocket(connection_),
          .events = static_cast<int16_t>(POLLIN | (is_sending ? POLLOUT : 0))};
      poll(&socket, 1, static_cast<int>(left.count()));
      if ((socket.revents & ~POLLOUT) != 0 &&
          PQconsumeInput(connection_) == 0) {
        return true;
      }
    }
  }

  absl::Status Check(const Result& result, const std::string& sql) const {
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
      return absl::OkStatus();
    }
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    return Failed(CodeOf(state == nullptr ? "" : state),
                  PQerrorMessage(connection_), sql);
  }

  const std::string connection_string_;
  const std::chrono::milliseconds timeout_;
  const char* synchronous_commit_ = "on;";
  PGconn* connection_ = nullptr;
  bool in_transaction_ = false;
  int64_t num_changed_ = 0;
  Clock::time_point next_attempt_;
  std::chrono::milliseconds backoff_ = kMinBackoff;
  absl::Status last_failure_;
};

absl::Status CheckConnectionString(const std::string& connection) {
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(connection.c_str(), &error);
  if (options != nullptr) {
    PQconninfoFree(options);
    return absl::OkStatus();
  }
  std::string reason = error == nullptr ? "no memory" : OneLine(error);
  PQfreemem(error);
  // libpq's message repeats the offending text.
  if (absl::StrContains(connection, '@') ||
      absl::StrContains(connection, "password")) {
    reason = "cannot be read";
  }
  return absl::InvalidArgumentError(
      absl::StrCat("database: ", reason,
                   "; expected postgresql://HOST/NAME or \"host=... "
                   "dbname=...\""));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenPostgresDatabase(
    const std::string& connection, std::chrono::milliseconds timeout) {
  TANGRAM_RETURN_IF_ERROR(CheckConnectionString(connection));
  auto database = std::make_unique<PostgresDatabase>(connection, timeout);
  TANGRAM_RETURN_IF_ERROR(database->MakeReady());
  return database;
}

}  // namespace tangram
