#ifndef TANGRAM_CLI_REMOTE_STREAM_CALL_H_
#define TANGRAM_CLI_REMOTE_STREAM_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "cli/planning/plan_monitor.h"
#include "cli/remote/coordinator_channel.h"
#include "common/wire/grpc_status.h"

namespace tangram {

// A call that streams updates. It uses the asynchronous API, so that a wait can
// be given up at any moment.
template <typename Update>
class StreamCall {
 public:
  using Reader = std::unique_ptr<grpc::ClientAsyncReader<Update>>;

  // `start` makes the call: (context, queue) -> Reader.
  template <typename Start>
  StreamCall(const StopCondition& stop, const Start& start) : stop_(stop) {
    context_.set_deadline(std::chrono::system_clock::now() + kLongestCall);
    reader_ = start(&context_, &queue_);
    started_ = Wait();
  }

  ~StreamCall() { queue_.Shutdown(); }

  // Waits for the next update; empty at the end of the stream.
  std::optional<Update> Next() {
    Update update;
    if (!started_) return std::nullopt;
    reader_->Read(&update, /*tag=*/nullptr);
    if (!Wait()) return std::nullopt;
    return update;
  }

  // Returns the status of the call; call it after Next has returned empty.
  absl::Status Finish() {
    grpc::Status status;
    reader_->Finish(&status, /*tag=*/nullptr);
    Wait();
    return stop_.ShouldStop() ? FromGrpc(status) : CallStatus(status);
  }

 private:
  // Longer than any plan takes; every call has a deadline.
  static constexpr std::chrono::hours kLongestCall = std::chrono::hours(24);

  // Waits for the one operation under way. Cancels the call when it is time to
  // stop, which ends the operation. True if the operation succeeded.
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.AsyncNext(&tag, &ok,
                            std::chrono::system_clock::now() +
                                std::chrono::milliseconds(kPollMilliseconds)) ==
           grpc::CompletionQueue::TIMEOUT) {
      if (stop_.ShouldStop()) context_.TryCancel();
    }
    return ok;
  }

  const StopCondition& stop_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  Reader reader_;
  bool started_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_STREAM_CALL_H_
