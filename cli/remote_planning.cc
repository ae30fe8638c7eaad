#include "cli/remote_planning.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "cli/coordinator_channel.h"
#include "common/base/status_macros.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/grpc_status.h"
#include "common/wire/model_wire.h"
#include "common/wire/training_wire.h"
#include "tangram/v1/planner_service.grpc.pb.h"

namespace tangram {
namespace {

// Every call has a deadline; no plan is worth more.
constexpr std::chrono::hours kLongestPlanning(24);

v1::PlanRequest ToProto(const PlanRequest& request,
                        const PlanningSetup& setup) {
  v1::PlanRequest message;
  *message.mutable_cluster() = tangram::ToProto(request.cluster);
  *message.mutable_model() = tangram::ToProto(request.model);
  *message.mutable_training() = tangram::ToProto(request.training);
  message.set_parallelizer(setup.parallelizer);
  v1::PlannerOptions& options = *message.mutable_options();
  options.set_pipeline_microbatch_size(request.pipeline_microbatch_size);
  const TangramOptions& search = setup.search;
  options.set_max_search_steps(search.max_search_steps);
  options.set_finalist_slack(search.finalist_slack);
  options.set_min_island_gain(search.min_island_gain);
  options.set_compute_tolerance(search.tolerances.compute);
  options.set_memory_tolerance(search.tolerances.memory);
  options.set_intra_node_tolerance(search.tolerances.intra_node);
  options.set_inter_node_tolerance(search.tolerances.inter_node);
  options.set_prune_redundant(search.pruning.redundancy);
  options.set_prune_imbalanced(search.pruning.imbalance);
  options.set_prune_infeasible(search.pruning.infeasibility);
  options.set_prune_incompatible(search.pruning.incompatibility);
  options.set_early_stop(search.pruning.early_stop);
  return message;
}

const char* NameOf(v1::PlanProgress::Phase phase) {
  switch (phase) {
    case v1::PlanProgress::ISLANDS:
      return PhaseName(PlanPhase::kIslands);
    case v1::PlanProgress::PROFILING:
      return PhaseName(PlanPhase::kProfiling);
    case v1::PlanProgress::ENUMERATION:
      return PhaseName(PlanPhase::kEnumeration);
    case v1::PlanProgress::SLICE_PLANS:
      return PhaseName(PlanPhase::kSlicePlans);
    case v1::PlanProgress::COMPOSITION:
      return PhaseName(PlanPhase::kComposition);
    case v1::PlanProgress::EVALUATION:
      return PhaseName(PlanPhase::kEvaluation);
    default:
      return "queued";
  }
}

// One streaming call, driven by hand so that it can be given up at any moment.
class PlanCall {
 public:
  PlanCall(const std::shared_ptr<grpc::Channel>& channel,
           const v1::PlanRequest& request, const StopCondition& stop)
      : stub_(v1::Planner::NewStub(channel)), stop_(stop) {
    context_.set_deadline(std::chrono::system_clock::now() + kLongestPlanning);
    reader_ = stub_->AsyncPlan(&context_, request, &queue_, /*tag=*/nullptr);
    started_ = Wait();
  }

  ~PlanCall() { queue_.Shutdown(); }

  // The next update; empty at the end of the stream.
  std::optional<v1::PlanUpdate> Next() {
    v1::PlanUpdate update;
    if (!started_) return std::nullopt;
    reader_->Read(&update, /*tag=*/nullptr);
    if (!Wait()) return std::nullopt;
    return update;
  }

  absl::Status Finish() {
    grpc::Status status;
    reader_->Finish(&status, /*tag=*/nullptr);
    Wait();
    return FromGrpc(status);
  }

 private:
  // Waits for the one operation under way and cancels the call when it is time
  // to stop, upon which the operation ends. True if it succeeded.
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

  std::unique_ptr<v1::Planner::Stub> stub_;
  const StopCondition& stop_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::PlanUpdate>> reader_;
  bool started_ = false;
};

// Follows the phases for their times, which updates do not carry.
class ProgressFollower {
 public:
  explicit ProgressFollower(ProgressLine& line) : line_(line) {}

  void Show(const v1::PlanProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    ProgressState state{.phase = NameOf(progress.phase()),
                        .pairs_done = progress.pairs_done(),
                        .pairs_total = progress.pairs_total(),
                        .num_workers = progress.num_workers()};
    if (progress.has_best_iteration_time_s()) {
      state.best_iteration_time_s = progress.best_iteration_time_s();
    }
    if (state.phase != phase_) {
      phase_ = state.phase;
      phase_began_ = now;
    }
    state.in_phase_s =
        std::chrono::duration<double>(now - phase_began_).count();
    line_.Show(state);
  }

 private:
  ProgressLine& line_;
  std::string phase_;
  std::chrono::steady_clock::time_point phase_began_;
};

}  // namespace

absl::StatusOr<PlanFile> PlanRemotely(const PlanRequest& request,
                                      const PlanningSetup& setup,
                                      const StopCondition& stop,
                                      ProgressLine& line) {
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(setup.coordinator, stop));
  PlanCall call(channel, ToProto(request, setup), stop);
  ProgressFollower follower(line);
  std::optional<v1::PlanFile> result;
  while (std::optional<v1::PlanUpdate> update = call.Next()) {
    if (update->has_progress()) follower.Show(update->progress());
    if (update->has_result()) result = std::move(*update->mutable_result());
  }
  line.Clear();
  TANGRAM_RETURN_IF_ERROR(call.Finish());
  if (!result) {
    return absl::InternalError("the coordinator ended without a result");
  }
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file, FromProto(*result));
  file.provenance.coordinator = setup.coordinator;
  return file;
}

}  // namespace tangram
