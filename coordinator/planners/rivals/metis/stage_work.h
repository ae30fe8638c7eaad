#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_STAGE_WORK_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_STAGE_WORK_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/planners/rivals/metis/metis_input.h"

namespace tangram {

// Where the work of a stage runs.
struct StagePlace {
  int first_rank = 0;
  int num_gpus = 0;
  int dp = 1;
  int tp = 1;
  bool operator==(const StagePlace&) const = default;
};

// The work of replicas of one type and share. Each vector has one entry a
// layer.
struct ReplicaWork {
  int type = 0;
  std::vector<double> ms;
  std::vector<double> state_mb;
  std::vector<double> activation_mb;
  std::vector<double> optimizer_ms;
  std::vector<double> transient_mb;
};

// A stage with every layer, at one microbatch size.
struct StageWork {
  bool profiled = false;
  bool idle_replica = false;        // One has no samples.
  double total_ms = 0;              // Its slowest replica's.
  double sync_ms = 0;               // The most of its types.
  std::vector<ReplicaWork> kinds;   // Unlike replicas.
  std::vector<int> shares;          // Empty: a stage of equal replicas.
  std::vector<double> upstream_mb;  // By layer, as M12 counts.
};

// The GPUs of a cluster in one order of types, and the work of stages on them.
// Remembers works. Not thread-safe.
class StageWorks {
 public:
  // `input` must outlive it.
  StageWorks(const MetisInput& input, const MetisSettings& settings,
             std::vector<int> types);

  // `samples`: of all replicas.
  const StageWork& Find(const StagePlace& place, int samples);

  absl::Span<const int> types() const { return types_; }
  const MetisHost& host_of(int rank) const {
    return input_.hosts[host_of_rank_[rank]];
  }
  double memory_mb_of_type(int type) const { return memory_mb_[type]; }
  int type_of(int rank) const { return type_of_rank_[rank]; }
  bool IsMixed(int first_rank, int num_gpus) const {
    return type_of(first_rank) != type_of(first_rank + num_gpus - 1);
  }
  // Whether no replica spans two hosts.
  bool TpStaysInHosts(const StagePlace& place) const;

  // The slowest link among ranks: that inside a host if they share one, else
  // the slowest to other hosts.
  double Bandwidth(int first_rank, int num_ranks, int stride) const;

 private:
  std::vector<int> Shares(int first_rank, int width, int dp, int tp,
                          int samples, bool& profiled) const;
  StageWork Make(const StagePlace& place, int samples) const;
  bool AddChunks(const MetisKey& key, ReplicaWork& work) const;
  bool AddUpstreamMemory(int type, int tp, int samples,
                         std::vector<double>& mb) const;

  const MetisInput& input_;
  const MetisSettings& settings_;
  std::vector<int> types_;
  std::vector<int> type_of_rank_;
  std::vector<int> host_of_rank_;
  std::vector<int> shown_host_of_rank_;  // With M10.
  std::vector<double> memory_mb_;        // The least of each type.
  std::unordered_map<uint64_t, std::unique_ptr<StageWork>> works_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_STAGE_WORK_H_
