#include "coordinator/store/job_feed.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/sync/mutex.h"
#include "coordinator/store/postgres_connection.h"

namespace tangram {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Pauses between attempts to listen, which double.
constexpr Milliseconds kFirstPause(200);
constexpr Milliseconds kLongestPause(5'000);
// Interval at which the end of the feed is noticed.
constexpr int kPollMs = 200;
// Progress is told apart from the rest, because it comes often and concerns
// those alone that watch the job. Runs behind kLockSchemaSql.
constexpr char kTriggers[] = R"(
  CREATE OR REPLACE FUNCTION tangram_tell_state() RETURNS trigger
    LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('tangram_jobs', 's' || NEW.id); RETURN NULL;
       END $$;
  CREATE OR REPLACE FUNCTION tangram_tell_progress() RETURNS trigger
    LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('tangram_jobs', 'p' || NEW.id); RETURN NULL;
       END $$;
  CREATE OR REPLACE TRIGGER tangram_state_told
    AFTER INSERT OR UPDATE OF state, cancel_wanted ON jobs
    FOR EACH ROW EXECUTE FUNCTION tangram_tell_state();
  CREATE OR REPLACE TRIGGER tangram_progress_told
    AFTER UPDATE OF last_event ON jobs
    FOR EACH ROW EXECUTE FUNCTION tangram_tell_progress();
  COMMIT;
  LISTEN tangram_jobs;
)";

struct ConnectionCloser {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Connection = std::unique_ptr<PGconn, ConnectionCloser>;

absl::Status FeedError(const Connection& connection) {
  return absl::UnavailableError(absl::StrCat(
      "database: ",
      absl::StripTrailingAsciiWhitespace(PQerrorMessage(connection.get()))));
}

class ListeningFeed : public JobFeed {
 public:
  explicit ListeningFeed(JobFeedOptions options)
      : options_(std::move(options)),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  bool is_listening() const override { return is_listening_; }

 private:
  void Run(const std::stop_token& stop) {
    Milliseconds pause = kFirstPause;
    while (!stop.stop_requested()) {
      absl::StatusOr<Connection> connection = Listen();
      if (connection.ok()) {
        pause = kFirstPause;
        is_listening_ = true;
        Tell(options_.on_connection, absl::OkStatus());
        // Others may have changed anything before.
        Tell(options_.on_state, std::string());
        const absl::Status lost = PassOn(**connection, stop);
        is_listening_ = false;
        if (stop.stop_requested()) return;
        Tell(options_.on_connection, lost);
      } else {
        Tell(options_.on_connection, connection.status());
      }
      Rest(pause, stop);
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  template <typename Callback, typename Value>
  static void Tell(const Callback& callback, const Value& value) {
    if (callback) callback(value);
  }

  absl::StatusOr<Connection> Listen() const {
    Connection connection(ConnectToPostgres(options_.connection));
    if (PQstatus(connection.get()) != CONNECTION_OK) {
      return FeedError(connection);
    }
    const std::string script =
        absl::StrCat("BEGIN; ", kLockSchemaSql, ";", kTriggers);
    PGresult* const result = PQexec(connection.get(), script.c_str());
    const bool listens = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (!listens) return FeedError(connection);
    return connection;
  }

  // Passes on what comes until the connection is lost.
  absl::Status PassOn(PGconn& connection, const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      pollfd socket = {.fd = PQsocket(&connection), .events = POLLIN};
      poll(&socket, 1, kPollMs);
      if (PQconsumeInput(&connection) == 0) {
        return absl::UnavailableError("database: the connection was lost");
      }
      while (PGnotify* const told = PQnotifies(&connection)) {
        absl::string_view id = told->extra;
        if (absl::ConsumePrefix(&id, "s")) {
          Tell(options_.on_state, std::string(id));
        } else if (absl::ConsumePrefix(&id, "p")) {
          Tell(options_.on_progress, std::string(id));
        }
        PQfreemem(told);
      }
    }
    return absl::OkStatus();
  }

  static void Rest(Milliseconds pause, const std::stop_token& stop) {
    Mutex mutex;
    StoppableConditionVariable wake;
    const MutexLock lock(mutex);
    wake.WaitFor(mutex, stop, pause, [] { return false; });
  }

  const JobFeedOptions options_;
  std::atomic<bool> is_listening_ = false;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<JobFeed> JobFeed::Start(JobFeedOptions options) {
  return std::make_unique<ListeningFeed>(std::move(options));
}

}  // namespace tangram
