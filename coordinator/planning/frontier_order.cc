#include "coordinator/planning/frontier_order.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/domain/keep_nodes.h"
#include "common/planner/keep_constraints.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/constraints_wire.h"
#include "tangram/v1/frontier_service.pb.h"

namespace tangram {
namespace {

// Equal messages give equal bytes.
std::string CanonicalBytesOf(const v1::PlanRequest& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

absl::Status AllocationError(int index, absl::string_view what,
                             absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("allocations[", index, "]", what, "; expected ", expected));
}

absl::StatusOr<std::vector<int>> ReadAllocation(
    int index, const v1::Allocation& message, const Cluster& cluster,
    const std::vector<int>& available) {
  const std::vector<int> nodes(message.nodes().begin(), message.nodes().end());
  if (nodes.size() != available.size()) {
    return AllocationError(
        index, absl::StrCat(".nodes: ", nodes.size(), " numbers"),
        absl::StrCat("one for each of the ", available.size(), " groups"));
  }
  for (size_t g = 0; g < nodes.size(); ++g) {
    if (nodes[g] >= 0 && nodes[g] <= available[g]) continue;
    return AllocationError(
        index, absl::StrCat(".nodes[", g, "]: ", nodes[g]),
        absl::StrCat("0 to the ", available[g], " nodes of ",
                     absl::Utf8SafeCEscape(cluster.groups[g])));
  }
  if (absl::c_all_of(nodes, [](int count) { return count == 0; })) {
    return AllocationError(index, ".nodes: all 0", "at least one node");
  }
  return nodes;
}

}  // namespace

absl::StatusOr<FrontierOrder> FromProto(const v1::FrontierRequest& message) {
  FrontierOrder order;
  if (!message.plan().plan_id().empty()) {
    return absl::InvalidArgumentError("plan.plan_id: set; expected none");
  }
  TANGRAM_ASSIGN_OR_RETURN(order.whole,
                           InField("plan", FromProto(message.plan())));
  const int num_allocations = message.allocations_size();
  if (num_allocations < 1 || num_allocations > kMaxAllocations) {
    return absl::InvalidArgumentError(absl::StrCat(
        "allocations: ", num_allocations, "; expected 1 to ", kMaxAllocations));
  }
  const std::vector<int> available = NodesOfGroups(order.cluster());
  std::set<std::vector<int>> seen;
  for (int i = 0; i < num_allocations; ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        std::vector<int> nodes,
        ReadAllocation(i, message.allocations(i), order.cluster(), available));
    if (!seen.insert(nodes).second) {
      return AllocationError(i, ".nodes: those of an earlier one",
                             "each allocation once");
    }
    order.allocations.push_back(std::move(nodes));
  }
  order.name = Sha256()(CanonicalBytesOf(message.plan()));
  order.request = message.plan();
  order.request.clear_cluster();
  return order;
}

int64_t BytesOf(const FrontierOrder& order) {
  const auto num_groups = static_cast<int64_t>(order.cluster().groups.size());
  // A vector, its numbers, and the bytes of the request.
  return BytesOf(order.whole) +
         static_cast<int64_t>(order.request.SpaceUsedLong()) +
         static_cast<int64_t>(order.allocations.size()) * (40 + 4 * num_groups);
}

AllocationOrder OrderFor(const FrontierOrder& order,
                         const std::vector<int>& allocation) {
  AllocationOrder one{.order = order.whole};
  PlanRequest& request = one.order.request;
  request.cluster = KeepNodes(order.cluster(), allocation);
  request.constraints = KeepConstraints(order.cluster(), *request.cluster,
                                        std::move(request.constraints));
  v1::PlanRequest message = order.request;
  *message.mutable_cluster() = ToProto(*request.cluster);
  message.clear_constraints();  // As a client leaves them out.
  if (!request.constraints.none()) {
    *message.mutable_constraints() = ToProto(request.constraints);
  }
  one.wire = CanonicalBytesOf(message);
  return one;
}

}  // namespace tangram
