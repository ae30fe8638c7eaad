#include "worker/adapters/process/adapter_process.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/grpc_status.h"
#include "common/wire/parallelizer_wire.h"
#include "tangram/v1/parallelizer_service.grpc.pb.h"
#include "worker/adapters/process/child_process.h"

namespace tangram {
namespace {

using Clock = std::chrono::steady_clock;

// Interval at which a call checks whether it should go on: a cancel is to stop
// it within 1 s.
constexpr double kPollSeconds = 0.02;
constexpr std::chrono::milliseconds kPollInterval(20);
// A lost connection means a dead process. Limits the wait until the process is
// seen dead.
constexpr double kDeathNoticeS = 1;

// A folder that only this user can enter, for the socket and the program's
// temporary files. Removed by the destructor.
class PrivateFolder {
 public:
  static absl::StatusOr<std::unique_ptr<PrivateFolder>> Create() {
    std::error_code error;
    std::string path =
        (std::filesystem::temp_directory_path(error) / "tangram-XXXXXX")
            .string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return absl::InternalError(absl::StrCat("cannot make a folder ", path));
    }
    return std::make_unique<PrivateFolder>(std::move(path));
  }

  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string socket() const { return path_ + "/adapter.sock"; }

 private:
  const std::string path_;
};

// Returns the variables that programs need to run. Nothing entrusted to the
// worker is among them.
std::vector<std::string> EnvironmentFor(const PrivateFolder& folder) {
  std::vector<std::string> environment = {
      absl::StrCat("TANGRAM_ADAPTER_SOCKET=", folder.socket()),
      absl::StrCat("TMPDIR=", folder.path())};
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  return environment;
}

class RunningAdapter : public AdapterProcess {
 public:
  explicit RunningAdapter(const ProcessOptions& options) : options_(options) {}

  absl::Status Start(const ShouldStop& should_stop) {
    TANGRAM_ASSIGN_OR_RETURN(folder_, PrivateFolder::Create());
    TANGRAM_ASSIGN_OR_RETURN(std::vector<std::string> wrapper, Wrapper());
    TANGRAM_ASSIGN_OR_RETURN(
        child_, ChildProcess::Start(
                    {.wrapper = std::move(wrapper),
                     .command = options_.command,
                     .environment = EnvironmentFor(*folder_),
                     .max_memory_bytes = options_.max_memory_bytes,
                     .on_line = [this](absl::string_view line) {
                       Log(LogLevel::kInfo, "adapter output",
                           {{"command", options_.command}, {"line", line}});
                     }}));
    TANGRAM_RETURN_IF_ERROR(AwaitSocket(should_stop));
    stub_ = v1::Parallelizer::NewStub(OpenChannel("unix:" + folder_->socket()));
    v1::Adapter description;
    const CallResult result = Call(
        &v1::Parallelizer::Stub::PrepareAsyncDescribe, v1::DescribeRequest(),
        description, options_.max_reply_s, should_stop);
    TANGRAM_RETURN_IF_ERROR(result.status);
    TANGRAM_ASSIGN_OR_RETURN(info_, FromProto(description));
    is_ready_ = true;
    return absl::OkStatus();
  }

  const AdapterInfo& info() const override { return info_; }
  bool IsAlive() override { return !child_->EndsWithin(0); }

  CallResult Call(const v1::Model& request, v1::SliceList& answer) override {
    return Call(&v1::Parallelizer::Stub::PrepareAsyncSliceModel, request,
                answer, options_.max_reply_s, nullptr);
  }
  CallResult Call(const v1::SliceList& request,
                  v1::SliceList& answer) override {
    return Call(&v1::Parallelizer::Stub::PrepareAsyncConcatenate, request,
                answer, options_.max_reply_s, nullptr);
  }
  CallResult Call(const v1::ProfileRequest& request,
                  v1::PerformanceProfile& answer) override {
    return Call(&v1::Parallelizer::Stub::PrepareAsyncProfile, request, answer,
                options_.max_reply_s, nullptr);
  }
  CallResult Call(const v1::ParallelizeRequest& request,
                  v1::SlicePlanSet& answer,
                  const ShouldStop& should_stop) override {
    return Call(&v1::Parallelizer::Stub::PrepareAsyncParallelize, request,
                answer, options_.max_search_s, should_stop);
  }

 private:
  // Returns the words of the sandbox; none: it runs without.
  absl::StatusOr<std::vector<std::string>> Wrapper() const {
    if (options_.isolation == Isolation::kNone)
      return std::vector<std::string>();
    const absl::Status works = SandboxesWork();
    if (works.ok()) return SandboxWords(folder_->path(), options_.hidden_files);
    if (options_.isolation == Isolation::kRequired) {
      return absl::FailedPreconditionError(
          absl::StrCat("--adapter_isolation: required; ", works.message()));
    }
    static std::once_flag once;
    std::call_once(once, [&] {
      Log(LogLevel::kWarning, "adapter programs run without a sandbox",
          {{"reason", works.message()}});
    });
    return std::vector<std::string>();
  }

  template <typename Request, typename Answer>
  using Method = std::unique_ptr<grpc::ClientAsyncResponseReader<Answer>> (
      v1::Parallelizer::Stub::*)(grpc::ClientContext*, const Request&,
                                 grpc::CompletionQueue*);

  // Waits until the socket exists. gRPC retries a connection that was tried too
  // early only after a pause.
  absl::Status AwaitSocket(const ShouldStop& should_stop) {
    const auto deadline =
        Clock::now() + std::chrono::duration<double>(options_.max_reply_s);
    std::error_code error;
    while (!std::filesystem::exists(folder_->socket(), error)) {
      if (child_->EndsWithin(kPollSeconds)) {
        return absl::InternalError(child_->Ending());
      }
      if (should_stop && should_stop()) return absl::CancelledError("stopped");
      if (Clock::now() > deadline) {
        child_->Kill(absl::StrCat("did not listen on its socket within ",
                                  options_.max_reply_s, " s"));
      }
    }
    return absl::OkStatus();
  }

  template <typename Request, typename Answer>
  CallResult Call(Method<Request, Answer> method, const Request& request,
                  Answer& answer, double max_s, const ShouldStop& should_stop) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(max_s);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    // The socket exists slightly before the program listens on it.
    context.set_wait_for_ready(!is_ready_);
    grpc::Status status;
    const auto call = (stub_.get()->*method)(&context, request, &queue);
    call->StartCall();
    call->Finish(&answer, &status, nullptr);

    CallEnd end = CallEnd::kAnswered;
    void* tag = nullptr;
    bool ok = false;
    while (queue.AsyncNext(&tag, &ok,
                           std::chrono::system_clock::now() + kPollInterval) ==
           grpc::CompletionQueue::TIMEOUT) {
      if (end != CallEnd::kAnswered) continue;  // Waits for the cancelled call.
      if (should_stop && should_stop()) {
        end = CallEnd::kStopped;
        child_->Kill("was not needed any more");
      } else if (Clock::now() > deadline) {
        end = CallEnd::kTimedOut;
        child_->Kill(absl::StrCat("took longer than ", max_s, " s"));
      } else if (child_->EndsWithin(0)) {
        end = CallEnd::kDied;
      }
      if (end != CallEnd::kAnswered) context.TryCancel();
    }
    return Judge(end, status);
  }

  // A broken connection counts as the death of the process, which is killed if
  // need be.
  CallResult Judge(CallEnd end, const grpc::Status& status) {
    if (end == CallEnd::kStopped) return {end, absl::CancelledError("stopped")};
    if (end == CallEnd::kAnswered &&
        status.error_code() != grpc::StatusCode::UNAVAILABLE &&
        status.error_code() != grpc::StatusCode::CANCELLED) {
      return {end, FromGrpc(status)};
    }
    if (!child_->EndsWithin(kDeathNoticeS)) {
      child_->Kill(
          absl::StrCat("broke the connection (", status.error_message(), ")"));
      child_->EndsWithin(kDeathNoticeS);
    }
    return {end == CallEnd::kTimedOut ? end : CallEnd::kDied,
            absl::InternalError(child_->Ending())};
  }

  const ProcessOptions& options_;
  // Members in order of dependence: each outlives those after it.
  std::unique_ptr<PrivateFolder> folder_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<v1::Parallelizer::Stub> stub_;
  AdapterInfo info_;
  bool is_ready_ = false;  // The program has described itself.
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdapterProcess>> AdapterProcess::Start(
    const ProcessOptions& options, const ShouldStop& should_stop) {
  auto process = std::make_unique<RunningAdapter>(options);
  if (absl::Status status = process->Start(should_stop); !status.ok()) {
    return status;
  }
  return process;
}

}  // namespace tangram
