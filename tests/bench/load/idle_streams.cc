#include "tests/bench/load/idle_streams.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/obs/clocks.h"
#include "common/security/channel.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/worker_pool_wire.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "worker/service/stream_times.h"

namespace tangram::bench {
namespace {

// Beats come later by at most so much.
constexpr std::chrono::milliseconds kInterval(50);

// As workers open it, with their pings.
std::shared_ptr<grpc::Channel> WorkerChannel(const std::string& address) {
  auto channel =
      OpenChannel({.address = address}, AccessFlags(), ChannelSettings());
  TANGRAM_CHECK(channel.ok());
  return *std::move(channel);
}

class IdleStream : public grpc::ClientBidiReactor<v1::WorkerMessage,
                                                  v1::CoordinatorMessage> {
 public:
  IdleStream(const std::string& address, int index)
      : stub_(v1::WorkerPool::NewStub(WorkerChannel(address))),
        times_({}, SteadySeconds()) {
    v1::Hello& hello = *outgoing_.mutable_hello();
    hello.set_name(absl::StrCat("stream-", index));
    hello.set_capacity(1);
    v1::Adapter& adapter = *hello.add_adapters();
    adapter.set_name("idle");
    adapter.set_version("1");
    is_writing_ = true;
    stub_->async()->Work(&context_, this);
    StartRead(&incoming_);
    StartWrite(&outgoing_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    TANGRAM_CHECK(ok);
    {
      const MutexLock lock(mutex_);
      times_.OnRead(*DecodeSilence(incoming_));
      is_answered_ = true;
    }
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    TANGRAM_CHECK(ok);
    const MutexLock lock(mutex_);
    is_writing_ = false;
  }

  bool IsAnswered() {
    const MutexLock lock(mutex_);
    return is_answered_;
  }
  void Beat(double now_s) {
    const MutexLock lock(mutex_);
    TANGRAM_CHECK(now_s < times_.LostAtS());
    if (is_writing_ || now_s < times_.WriteAtS()) return;
    is_writing_ = true;
    times_.OnWrite(now_s);
    outgoing_.Clear();
    StartWrite(&outgoing_);
  }

 private:
  const std::unique_ptr<v1::WorkerPool::Stub> stub_;
  grpc::ClientContext context_;
  v1::WorkerMessage outgoing_;
  v1::CoordinatorMessage incoming_;
  Mutex mutex_;
  StreamTimes times_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_answered_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

void RunIdleStreams(const std::string& address, int count,
                    const std::function<void()>& on_ready) {
  std::vector<std::unique_ptr<IdleStream>> streams;
  for (int i = 0; i < count; ++i) {
    streams.push_back(std::make_unique<IdleStream>(address, i));
  }
  bool is_ready = false;
  while (true) {
    std::this_thread::sleep_for(kInterval);
    const double now_s = SteadySeconds();
    for (const auto& stream : streams) stream->Beat(now_s);
    if (is_ready) continue;
    is_ready = std::all_of(streams.begin(), streams.end(),
                           [](const auto& s) { return s->IsAnswered(); });
    if (is_ready) on_ready();
  }
}

}  // namespace tangram::bench
