#ifndef TANGRAM_FRAMEWORKS_RANK_ORDER_H_
#define TANGRAM_FRAMEWORKS_RANK_ORDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"

namespace tangram {

// A host with the GPUs it gives, in rank order.
struct RankedHost {
  std::string name;
  std::string type;  // Of its GPUs, without blanks.
  int node = 0;
  std::vector<int> gpus;
};

// Frameworks number ranks stage by stage, torchrun host by host: both agree if
// the hosts stand in the order of the stages and each comes once. The hosts in
// that order, or kInvalidArgument naming the stage that comes back to an
// earlier host. Also if a tensor-parallel group lies on parts of several hosts.
absl::StatusOr<std::vector<RankedHost>> HostsInRankOrder(
    const Cluster& cluster, const PipelinePlan& plan);

// "0,1,2,3"; empty where a host gives its first GPUs in order.
std::string VisibleGpus(const RankedHost& host);

// "t4-0 slots=4 type=T4" a line; the GPUs too where they are not the first:
// "gpus=2,3". As DeepSpeed and FlagScale read it.
std::string HostFileText(const std::vector<RankedHost>& hosts);

// The GPUs that a host file of that form lists, in order. kInvalidArgument
// naming line, value and what was expected.
absl::StatusOr<std::vector<GpuId>> GpusOfHostFile(const Cluster& cluster,
                                                  absl::string_view text,
                                                  absl::string_view source);

// A shell script that starts the ranks of one host with torchrun and the lines
// `command`, which runs a program of the checkout that the environment variable
// `checkout` names.
std::string LaunchScript(absl::string_view framework,
                         absl::string_view checkout, absl::string_view command);

// "bash launch.sh on every host, e.g. srun --nodes=4 ...".
std::string LaunchHint(const std::vector<RankedHost>& hosts,
                       absl::string_view checkout);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RANK_ORDER_H_
