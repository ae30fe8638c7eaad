#include "worker/adapters/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/sync/mutex.h"
#include "worker/adapters/process/process_session.h"

namespace tangram {
namespace {

// Interval at which the end of a process is noticed while its output stays
// open.
constexpr int kWatchIntervalMs = 50;
// Interval of memory checks: a program that takes 10 GB/s gets 2 GB too much.
// Checks that are slow, with many processes, take at most 1/20 of a core.
constexpr std::chrono::milliseconds kMemoryInterval(200);
constexpr int kMemoryLookShare = 20;
// Number of last lines that Ending() reports: the end of a stack trace.
constexpr size_t kLinesKept = 5;
// Six lines of a terminal: messages of exceptions fit.
constexpr size_t kMaxLineBytes = 500;
// Bytes read before memory and end are checked again: the capacity of a pipe
// (pipe(7)).
constexpr ssize_t kMaxTurnBytes = 1 << 16;
// Limit on lines passed on in each interval: enough for a stack trace, but no
// flood.
constexpr std::chrono::seconds kLineInterval(5);
constexpr int64_t kLinesPerInterval = 100;

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// Runs between fork and exec, where nothing that takes a lock may be called.
[[noreturn]] void BecomeCommand(int output, pid_t parent, char* const argv[],
                                char* const environment[]) {
  setsid();
  // The parent may die before the kernel starts to watch it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  // A program with gigabytes would write them to disk at each death.
  constexpr rlimit kNoCore = {.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &kNoCore);
  // Daemons block termination signals, and gRPC ignores broken pipes; both are
  // inherited.
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execve(argv[0], argv, environment);
  _exit(127);
}

std::string ExitText(int status) {
  // A shell that waited for its command exits with 128 + the signal's number.
  constexpr int kShellSignal = 128;
  const int code = WEXITSTATUS(status);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status)
                     : code > kShellSignal && code < kShellSignal + NSIG
                         ? code - kShellSignal
                         : 0;
  if (signal == 0) return absl::StrCat("exited with code ", code);
  // glibc keeps the text of strsignal for each thread.
  return absl::StrFormat("was killed by signal %d (%s)", signal,
                         strsignal(signal));  // NOLINT(concurrency-mt-unsafe)
}

// One thread starts the command, reads its output, watches its memory and sees
// it end. PR_SET_PDEATHSIG binds a child to the thread that started it.
class WatchedChild : public ChildProcess {
 public:
  explicit WatchedChild(ChildOptions options) : options_(std::move(options)) {}

  ~WatchedChild() override {
    Kill("was not needed any more");
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return StartError("pipe2", errno);
    output_ = Descriptor(ends[0]);
    Descriptor child_output(ends[1]);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    const MutexLock lock(mutex_);
    thread_ = std::thread([this, &child_output] { Run(child_output); });
    while (state_ == State::kNotStarted) changed_.Wait(mutex_);
    // A short command may have ended by now.
    if (state_ != State::kFailed) return absl::OkStatus();
    return StartError("fork", fork_error_);
  }

  void Kill(absl::string_view reason) override {
    const MutexLock lock(mutex_);
    if (state_ != State::kRunning) return;
    if (reason_.empty()) reason_ = std::string(reason);
    KillSession(id_);
  }

  bool EndsWithin(double seconds) override {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, std::chrono::duration<double>(seconds),
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                              return state_ == State::kEnded;
                            });
  }

  std::string Ending() override {
    const MutexLock lock(mutex_);
    std::string text = reason_.empty() ? ExitText(status_) : reason_;
    if (!lines_.empty()) {
      absl::StrAppend(&text, "; output: ", absl::StrJoin(lines_, " | "));
    }
    return text;
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kNotStarted, kFailed, kRunning, kEnded };

  static absl::Status StartError(const char* call, int error) {
    return absl::InternalError(
        absl::StrCat(call, ": ", std::generic_category().message(error)));
  }

  void Run(Descriptor& child_output) {
    id_ = Fork(child_output.get());
    fork_error_ = errno;
    child_output.Close();
    {
      const MutexLock lock(mutex_);
      state_ = id_ > 0 ? State::kRunning : State::kFailed;
      changed_.NotifyAll();
    }
    if (id_ <= 0) return;
    Watch();
    // Until the leader is reaped, its number belongs to no other session.
    KillSession(id_);
    ReadOutput();
    EndLine();
    TellLinesLeftOut();
    const MutexLock lock(mutex_);
    waitpid(id_, &status_, 0);
    state_ = State::kEnded;
    changed_.NotifyAll();
  }

  pid_t Fork(int output) {
    char shell[] = "/bin/sh";
    char flag[] = "-c";
    std::vector<char*> argv;
    for (std::string& word : options_.wrapper) argv.push_back(word.data());
    argv.insert(argv.end(), {shell, flag, options_.command.data(), nullptr});
    std::vector<char*> environment;
    for (std::string& variable : options_.environment) {
      environment.push_back(variable.data());
    }
    environment.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
      BecomeCommand(output, parent, argv.data(), environment.data());
    }
    return child;
  }

  // Returns when the leader has ended.
  void Watch() {
    auto next_look = Clock::now();
    while (!LeaderHasEnded()) {
      pollfd output = {.fd = output_.get(), .events = POLLIN};
      poll(&output, 1, kWatchIntervalMs);
      if (output.revents != 0) ReadOutput();
      const auto begin = Clock::now();
      if (begin >= interval_end_) TellLinesLeftOut();
      if (begin < next_look) continue;
      CheckMemory();
      const auto end = Clock::now();
      next_look = end + std::max<Clock::duration>(
                            kMemoryInterval, kMemoryLookShare * (end - begin));
    }
  }

  // Leaves the leader unreaped.
  bool LeaderHasEnded() const {
    siginfo_t info = {};
    waitid(P_PID, id_, &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == id_;
  }

  void CheckMemory() {
    const double bytes = SessionMemoryBytes(id_);
    if (bytes <= options_.max_memory_bytes) return;
    Kill(
        absl::StrFormat("took %.2f GB of memory, more than the %.2f GB that "
                        "it may",
                        bytes / 1e9, options_.max_memory_bytes / 1e9));
  }

  void ReadOutput() {
    char buffer[4096];
    for (ssize_t total = 0; total < kMaxTurnBytes;) {
      const ssize_t length = read(output_.get(), buffer, sizeof(buffer));
      // No process holds the other end any more, so no output will follow.
      if (length == 0) output_.Close();
      if (length <= 0) return;
      total += length;
      for (ssize_t i = 0; i < length; ++i) {
        if (buffer[i] == '\n') {
          EndLine();
        } else if (line_.size() < kMaxLineBytes) {
          line_.push_back(buffer[i]);
        }
      }
    }
  }

  void EndLine() {
    if (line_.empty()) return;
    if (options_.on_line) PassOnLine();
    const MutexLock lock(mutex_);
    lines_.push_back(std::exchange(line_, ""));
    if (lines_.size() > kLinesKept) lines_.pop_front();
  }

  void PassOnLine() {
    const auto now = Clock::now();
    if (now >= interval_end_) {
      TellLinesLeftOut();
      interval_end_ = now + kLineInterval;
      lines_passed_on_ = 0;
    }
    if (lines_passed_on_ == kLinesPerInterval) {
      ++lines_left_out_;
    } else {
      ++lines_passed_on_;
      options_.on_line(line_);
    }
  }

  void TellLinesLeftOut() {
    if (lines_left_out_ == 0) return;
    options_.on_line(
        absl::StrCat(std::exchange(lines_left_out_, 0), " lines left out"));
  }

  ChildOptions options_;
  Descriptor output_;
  // Used by the thread alone.
  std::string line_;  // The line being read.
  Clock::time_point interval_end_;
  int64_t lines_passed_on_ = 0;  // In the current interval.
  int64_t lines_left_out_ = 0;   // Not reported yet.

  pid_t id_ = 0;  // Like fork_error_, set before state_ changes.
  int fork_error_ = 0;
  Mutex mutex_;
  ConditionVariable changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNotStarted;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
  int status_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    ChildOptions options) {
  auto child = std::make_unique<WatchedChild>(std::move(options));
  if (absl::Status status = child->Start(); !status.ok()) return status;
  return child;
}

}  // namespace tangram
