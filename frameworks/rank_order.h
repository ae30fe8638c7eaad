#ifndef TANGRAM_FRAMEWORKS_RANK_ORDER_H_
#define TANGRAM_FRAMEWORKS_RANK_ORDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {

// A host with the GPUs that training uses there, in rank order.
struct RankedHost {
  std::string name;
  std::string type;       // GPU type, without blanks.
  int node = 0;           // Index into Cluster::nodes.
  std::vector<int> gpus;  // Indices of its GPUs, in rank order.
};

// Returns the hosts in rank order. Frameworks number ranks stage by stage,
// torchrun host by host. Both agree if the hosts stand in the order of the
// stages and each comes once. kInvalidArgument names a stage that returns to an
// earlier host, or a tensor-parallel group on parts of several hosts.
absl::StatusOr<std::vector<RankedHost>> HostsInRankOrder(
    const Cluster& cluster, const PipelinePlan& plan);

// Returns "0,1,2,3"; empty if a host uses its first GPUs in order.
std::string VisibleGpus(const RankedHost& host);

// Returns a line such as "t4-0 slots=4 type=T4" for each host, in the format of
// DeepSpeed and FlagScale. "gpus=2,3" follows if a host does not use its first
// GPUs.
std::string HostFileText(const std::vector<RankedHost>& hosts);

// Returns the name of a GPU type as host files have it, without blanks.
std::string HostFileType(absl::string_view type);

// Returns the GPUs that such a host file lists, in order. kInvalidArgument
// names line, value and what was expected.
absl::StatusOr<std::vector<GpuId>> GpusOfHostFile(const Cluster& cluster,
                                                  absl::string_view text,
                                                  absl::string_view source);

// Returns a shell script that starts the ranks of one host with torchrun and
// the lines `command`. They run a program of the checkout that the environment
// variable `checkout` names.
std::string LaunchScript(absl::string_view framework,
                         absl::string_view checkout, absl::string_view command);

// Returns "bash launch.sh on every host, e.g. srun --nodes=4 ...".
std::string LaunchHint(const std::vector<RankedHost>& hosts,
                       absl::string_view checkout);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RANK_ORDER_H_
