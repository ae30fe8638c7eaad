#include "common/wire/cluster_wire.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/figure_limits.h"
#include "common/domain/limits.h"
#include "common/wire/field_checks.h"
#include "common/wire/recompute_wire.h"
#include "tangram/v1/cluster.pb.h"

namespace tangram {
namespace {

int AddDevice(const DeviceSpec& device, std::vector<DeviceSpec>& devices) {
  const auto it = std::find(devices.begin(), devices.end(), device);
  const int index = static_cast<int>(it - devices.begin());
  if (it == devices.end()) devices.push_back(device);
  return index;
}

bool SameRun(const Node& a, const Node& b) {
  return a.group == b.group && a.num_gpus == b.num_gpus &&
         a.intra_node == b.intra_node && a.device == b.device;
}

void EncodeNodes(const Cluster& cluster, v1::Cluster& message) {
  std::vector<DeviceSpec> devices;
  const Node* previous = nullptr;
  for (const Node& node : cluster.nodes) {
    if (previous == nullptr || !SameRun(*previous, node)) {
      v1::NodeRun& run = *message.add_nodes();
      run.set_group(node.group);
      run.set_num_gpus(node.num_gpus);
      run.set_device(AddDevice(node.device, devices));
      *run.mutable_intra_node() = ToProto(node.intra_node);
    }
    message.mutable_nodes(message.nodes_size() - 1)->add_names(node.name);
    previous = &node;
  }
  for (const DeviceSpec& device : devices) {
    *message.add_devices() = ToProto(device);
  }
}

// Writes each distinct link once, and the matrix of groups as indices.
void EncodeLinks(const Cluster& cluster, v1::Cluster& message) {
  std::map<std::tuple<double, double, double>, int> types;
  for (const std::vector<Link>& links : cluster.links) {
    v1::LinkRow& row = *message.add_links();
    for (const Link& link : links) {
      const auto [it, is_new] =
          types.try_emplace({link.bandwidth_bytes_per_s,
                             link.pair_bandwidth_bytes_per_s, link.latency_s},
                            message.link_types_size());
      if (is_new) *message.add_link_types() = ToProto(link);
      row.add_link_types(it->second);
    }
  }
}

absl::Status CheckCarriesData(const Link& link) {
  return FirstError(
      {CheckWithin("bandwidth_bytes_per_s", link.bandwidth_bytes_per_s,
                   kLeastRate, kMaxBandwidthBytesPerS),
       CheckWithin("pair_bandwidth_bytes_per_s",
                   link.pair_bandwidth_bytes_per_s, kLeastRate,
                   kMaxBandwidthBytesPerS)});
}

absl::StatusOr<Node> DecodeRun(const v1::NodeRun& run,
                               const std::vector<DeviceSpec>& devices,
                               int num_groups) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckIndex("group", run.group(), num_groups),
                  CheckPositive("num_gpus", run.num_gpus(), kMaxGpusPerNode),
                  CheckIndex("device", run.device(), devices.size())}));
  Node node{.group = run.group(),
            .num_gpus = run.num_gpus(),
            .device = devices[run.device()]};
  TANGRAM_ASSIGN_OR_RETURN(node.intra_node,
                           InField("intra_node", FromProto(run.intra_node())));
  if (node.num_gpus > 1) {
    TANGRAM_RETURN_IF_ERROR(
        InField("intra_node", CheckCarriesData(node.intra_node)));
  }
  return node;
}

int64_t NumMeasurements(const DeviceSpec& device) {
  size_t count = device.measured.size() + device.measured_layers.size();
  for (const MeasuredCollective& collective : device.collectives) {
    count += collective.points.size();
  }
  return static_cast<int64_t>(count);
}

// Decodes the nodes. Checks the limits before it adds the nodes of a run,
// because a short run may name many nodes. They share the measurements of their
// device.
absl::Status DecodeNodes(const v1::Cluster& message, Cluster& cluster) {
  std::vector<DeviceSpec> devices;
  int64_t num_measurements = 0;
  for (int i = 0; i < message.devices_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        DeviceSpec device,
        InField("devices", i, FromProto(message.devices(i))));
    num_measurements += NumMeasurements(device);
    TANGRAM_RETURN_IF_ERROR(
        CheckCount("measurements", num_measurements, kMaxMeasurements));
    devices.push_back(std::move(device));
  }
  // Reserves what is needed, because a list that grows takes twice as much.
  size_t num_nodes = 0;
  for (const v1::NodeRun& run : message.nodes()) num_nodes += run.names_size();
  cluster.nodes.reserve(std::min(num_nodes, size_t{kMaxNodes}));
  std::set<absl::string_view> names;
  int64_t num_gpus = 0;
  for (int i = 0; i < message.nodes_size(); ++i) {
    const v1::NodeRun& run = message.nodes(i);
    TANGRAM_ASSIGN_OR_RETURN(
        Node node,
        InField("nodes", i, DecodeRun(run, devices, message.groups_size())));
    TANGRAM_RETURN_IF_ERROR(CheckCount(
        "nodes", cluster.nodes.size() + run.names_size(), kMaxNodes));
    num_gpus += int64_t{node.num_gpus} * run.names_size();
    for (const std::string& name : run.names()) {
      TANGRAM_RETURN_IF_ERROR(InField("nodes", i, CheckLabel("names", name)));
      if (name.empty() || !names.insert(name).second) {
        return InField("nodes", i,
                       FieldError("names", absl::StrCat("\"", name, "\""),
                                  "names that are unique in the cluster"));
      }
      node.name = name;
      cluster.nodes.push_back(node);
    }
  }
  return FirstError({CheckPositive("nodes", cluster.nodes.size(), kMaxNodes),
                     CheckCount("gpus", num_gpus, kMaxGpus)});
}

// Decodes the links. The matrix must have a row and a column for each group.
absl::Status DecodeLinks(const v1::Cluster& message, Cluster& cluster) {
  std::vector<Link> types;
  for (int i = 0; i < message.link_types_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        const Link link,
        InField("link_types", i, FromProto(message.link_types(i))));
    types.push_back(link);
  }
  const int num_groups = message.groups_size();
  if (message.links_size() != num_groups) {
    return FieldError("links", absl::StrCat(message.links_size(), " rows"),
                      absl::StrCat("one for each of ", num_groups, " groups"));
  }
  for (int a = 0; a < num_groups; ++a) {
    const v1::LinkRow& row = message.links(a);
    if (row.link_types_size() != num_groups) {
      return InField(
          "links", a,
          FieldError("link_types",
                     absl::StrCat(row.link_types_size(), " links"),
                     absl::StrCat("one to each of ", num_groups, " groups")));
    }
    std::vector<Link>& links = cluster.links.emplace_back();
    links.reserve(num_groups);
    for (const int type : row.link_types()) {
      TANGRAM_RETURN_IF_ERROR(
          InField("links", a, CheckIndex("link_types", type, types.size())));
      links.push_back(types[type]);
    }
  }
  return absl::OkStatus();
}

// Checks that every link used by some pair of nodes carries data.
absl::Status CheckLinksInUse(const Cluster& cluster) {
  std::vector<int> nodes_of_group(cluster.groups.size());
  for (const Node& node : cluster.nodes) ++nodes_of_group[node.group];
  for (size_t a = 0; a < cluster.links.size(); ++a) {
    for (size_t b = 0; b < cluster.links.size(); ++b) {
      if (nodes_of_group[a] == 0 || nodes_of_group[b] == 0) continue;
      if (a == b && nodes_of_group[a] == 1) continue;
      TANGRAM_RETURN_IF_ERROR(InField(absl::StrCat("links[", a, "][", b, "]"),
                                      CheckCarriesData(cluster.links[a][b])));
    }
  }
  return absl::OkStatus();
}

v1::StageLimits ToProto(const StageLimits& limits) {
  v1::StageLimits message;
  message.set_tp_degree(limits.tp_degree);
  message.set_cp_degree(limits.cp_degree);
  message.set_dp_degree(limits.dp_degree);
  message.set_gpus_per_stage(limits.gpus_per_stage);
  message.set_max_stages(limits.max_stages);
  message.set_max_zero_stage(limits.max_zero_stage);
  message.set_no_sequence_parallel(limits.no_sequence_parallel);
  message.set_no_offload(limits.no_offload);
  message.set_residual_cuts(limits.residual_cuts);
  message.set_closed_recompute(limits.closed_recompute);
  message.set_recompute(EncodeRecompute(limits.recompute));
  message.set_ep_degree(limits.ep_degree);
  if (limits.zero_stage.has_value()) message.set_zero_stage(*limits.zero_stage);
  message.set_each_depth(limits.each_depth);
  message.set_zero_degree(limits.zero_degree);
  return message;
}

absl::StatusOr<StageLimits> FromProto(const v1::StageLimits& message) {
  StageLimits limits{.tp_degree = message.tp_degree(),
                     .cp_degree = message.cp_degree(),
                     .dp_degree = message.dp_degree(),
                     .gpus_per_stage = message.gpus_per_stage(),
                     .max_stages = message.max_stages(),
                     .each_depth = message.each_depth(),
                     .ep_degree = message.ep_degree(),
                     .zero_degree = message.zero_degree(),
                     .no_sequence_parallel = message.no_sequence_parallel(),
                     .no_offload = message.no_offload(),
                     .residual_cuts = message.residual_cuts(),
                     .closed_recompute = message.closed_recompute()};
  TANGRAM_ASSIGN_OR_RETURN(limits.recompute,
                           DecodeRecompute("recompute", message.recompute()));
  if (message.has_max_zero_stage()) {
    limits.max_zero_stage = message.max_zero_stage();
  }
  if (message.has_zero_stage()) limits.zero_stage = message.zero_stage();
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckNotNegative("tp_degree", limits.tp_degree, kMaxGpus),
       CheckNotNegative("cp_degree", limits.cp_degree, kMaxGpus),
       CheckNotNegative("dp_degree", limits.dp_degree, kMaxGpus),
       CheckNotNegative("gpus_per_stage", limits.gpus_per_stage, kMaxGpus),
       CheckNotNegative("max_stages", limits.max_stages, kMaxGpus),
       CheckNotNegative("ep_degree", limits.ep_degree, kMaxGpus),
       CheckNotNegative("zero_degree", limits.zero_degree, kMaxGpus),
       CheckNotNegative("max_zero_stage", limits.max_zero_stage, 3),
       CheckNotNegative("zero_stage", limits.zero_stage.value_or(0), 3)}));
  return limits;
}

}  // namespace

v1::Link ToProto(const Link& link) {
  v1::Link message;
  message.set_bandwidth_bytes_per_s(link.bandwidth_bytes_per_s);
  message.set_pair_bandwidth_bytes_per_s(link.pair_bandwidth_bytes_per_s);
  message.set_latency_s(link.latency_s);
  return message;
}

v1::Cluster ToProto(const Cluster& cluster) {
  v1::Cluster message;
  message.set_name(cluster.name);
  message.mutable_groups()->Assign(cluster.groups.begin(),
                                   cluster.groups.end());
  EncodeNodes(cluster, message);
  EncodeLinks(cluster, message);
  for (const Assumption& assumption : cluster.assumptions) {
    v1::Assumption& encoded = *message.add_assumptions();
    encoded.set_field(assumption.field);
    encoded.set_value(assumption.value);
    encoded.set_source(assumption.source);
  }
  return message;
}

v1::IslandSpec ToProto(const IslandSpec& spec) {
  v1::IslandSpec message;
  *message.mutable_device() = ToProto(spec.device);
  message.set_num_nodes(spec.num_nodes);
  message.set_gpus_per_node(spec.gpus_per_node);
  *message.mutable_intra_node() = ToProto(spec.intra_node);
  *message.mutable_inter_node() = ToProto(spec.inter_node);
  if (!spec.limits.none()) *message.mutable_limits() = ToProto(spec.limits);
  return message;
}

v1::Island ToProto(const Island& island, const Cluster& cluster) {
  v1::Island message;
  message.set_id(island.id);
  message.set_name(island.name);
  for (const int node : island.nodes) {
    message.add_nodes(cluster.nodes[node].name);
  }
  *message.mutable_spec() = ToProto(island.spec);
  message.set_reason(island.reason);
  return message;
}

absl::StatusOr<Link> FromProto(const v1::Link& message) {
  // 0: a link that nothing uses.
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckWithin("bandwidth_bytes_per_s", message.bandwidth_bytes_per_s(), 0,
                   kMaxBandwidthBytesPerS),
       CheckWithin("pair_bandwidth_bytes_per_s",
                   message.pair_bandwidth_bytes_per_s(), 0,
                   kMaxBandwidthBytesPerS),
       CheckWithin("latency_s", message.latency_s(), 0, kMaxLatencyS)}));
  return Link{
      .bandwidth_bytes_per_s = message.bandwidth_bytes_per_s(),
      .pair_bandwidth_bytes_per_s = message.pair_bandwidth_bytes_per_s(),
      .latency_s = message.latency_s()};
}

absl::StatusOr<Cluster> FromProto(const v1::Cluster& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckLabel("name", message.name()),
       CheckCount("groups", message.groups_size(), kMaxGroups),
       CheckCount("devices", message.devices_size(), kMaxNodes),
       CheckCount("assumptions", message.assumptions_size(), kMaxNodes)}));
  for (int i = 0; i < message.groups_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        CheckLabel(absl::StrCat("groups[", i, "]"), message.groups(i)));
  }
  Cluster cluster{.name = message.name(),
                  .groups = {message.groups().begin(), message.groups().end()}};
  TANGRAM_RETURN_IF_ERROR(DecodeNodes(message, cluster));
  TANGRAM_RETURN_IF_ERROR(DecodeLinks(message, cluster));
  TANGRAM_RETURN_IF_ERROR(CheckLinksInUse(cluster));
  for (const v1::Assumption& assumption : message.assumptions()) {
    for (const std::string* text :
         {&assumption.field(), &assumption.value(), &assumption.source()}) {
      TANGRAM_RETURN_IF_ERROR(CheckLength("assumptions", *text, kMaxTextBytes));
    }
    cluster.assumptions.push_back({.field = assumption.field(),
                                   .value = assumption.value(),
                                   .source = assumption.source()});
  }
  return cluster;
}

absl::StatusOr<IslandSpec> FromProto(const v1::IslandSpec& message) {
  // A node of the cluster may count as several nodes of the island.
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("num_nodes", message.num_nodes(), kMaxGpus),
       CheckPositive("gpus_per_node", message.gpus_per_node(), kMaxGpusPerNode),
       CheckPositive("num_gpus",
                     int64_t{message.num_nodes()} * message.gpus_per_node(),
                     kMaxGpus)}));
  IslandSpec spec{.num_nodes = message.num_nodes(),
                  .gpus_per_node = message.gpus_per_node()};
  TANGRAM_ASSIGN_OR_RETURN(spec.device,
                           InField("device", FromProto(message.device())));
  TANGRAM_ASSIGN_OR_RETURN(
      spec.intra_node, InField("intra_node", FromProto(message.intra_node())));
  TANGRAM_ASSIGN_OR_RETURN(
      spec.inter_node, InField("inter_node", FromProto(message.inter_node())));
  if (message.has_limits()) {
    TANGRAM_ASSIGN_OR_RETURN(spec.limits,
                             InField("limits", FromProto(message.limits())));
  }
  return spec;
}

absl::StatusOr<Island> FromProto(const v1::Island& message,
                                 const Cluster& cluster) {
  Island island{
      .id = message.id(), .name = message.name(), .reason = message.reason()};
  const std::set<absl::string_view> wanted(message.nodes().begin(),
                                           message.nodes().end());
  for (size_t i = 0; i < cluster.nodes.size(); ++i) {
    if (wanted.count(cluster.nodes[i].name) > 0) {
      island.nodes.push_back(static_cast<int>(i));
    }
  }
  if (static_cast<int>(island.nodes.size()) != message.nodes_size()) {
    return FieldError("nodes", absl::StrCat(message.nodes_size(), " names"),
                      absl::StrCat("different nodes of the cluster, which "
                                   "has ",
                                   island.nodes.size(), " of them"));
  }
  TANGRAM_ASSIGN_OR_RETURN(island.spec,
                           InField("spec", FromProto(message.spec())));
  return island;
}

}  // namespace tangram
