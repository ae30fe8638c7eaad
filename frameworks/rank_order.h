#ifndef TANGRAM_FRAMEWORKS_RANK_ORDER_H_
#define TANGRAM_FRAMEWORKS_RANK_ORDER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
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

// Returns the hosts of these GPUs in the order in which they come first, each
// with its GPUs in their order. For frameworks whose files give the ranks of
// every stage: ranks are numbered host by host, and stages may return to a
// host.
std::vector<RankedHost> HostsInOrderOfUse(const Cluster& cluster,
                                          absl::Span<const GpuId> gpus);

// Returns the rank of each GPU of the hosts.
std::map<GpuId, int> RanksOn(absl::Span<const RankedHost> hosts);

// kInvalidArgument names a stage with a tensor-parallel group that is neither
// on one host nor fills its hosts.
absl::Status RequireGroupsOnHosts(const Cluster& cluster,
                                  const PipelinePlan& plan);

// Returns the hosts with their GPUs in the order in which a framework takes
// them whose rank r has device r mod the number of devices that it sees.
std::vector<RankedHost> ForDevicesByRank(std::vector<RankedHost> hosts);

// kInvalidArgument names a used node with a name that is no word of letters,
// digits, '.', '_' and '-', as those of cluster files are. Host files and
// scripts have these names.
absl::Status RequireHostNames(const Cluster& cluster, const PipelinePlan& plan);

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
