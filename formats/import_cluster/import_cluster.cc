#include "formats/import_cluster/import_cluster.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/cluster_file.h"
#include "formats/import_cluster/group_nodes.h"
#include "formats/import_cluster/measured_links.h"
#include "formats/import_cluster/own_cluster.h"
#include "formats/import_cluster/read_sources.h"
#include "formats/import_cluster/text_parts.h"
#include "formats/import_cluster/wiring.h"
#include "formats/import_cluster/write_cluster.h"

namespace tangram {
namespace {

std::string SourceNames(absl::Span<const ClusterSource> sources,
                        const ClusterImportOptions& options) {
  std::vector<std::string> names;
  for (const ClusterSource& source : sources) {
    names.push_back(Shown(source.name));
  }
  if (options.own.has_value()) names.push_back(Shown(options.own->name));
  return absl::StrJoin(names, ", ");
}

absl::Status NothingLeft(const ClusterDraft& draft) {
  const std::vector<std::string> skipped = SkippedByReason(draft.skipped);
  return absl::InvalidArgumentError(absl::StrCat(
      "no node with GPUs that can be used",
      skipped.empty() ? "; expected an inventory: scontrol show node, sinfo, "
                        "kubectl get nodes -o json or nvidia-smi -q -x"
                      : absl::StrCat("; ", absl::StrJoin(skipped, "; "))));
}

absl::StatusOr<ClusterDraft> MakeDraft(absl::Span<const ClusterSource> sources,
                                       const ClusterImportOptions& options) {
  ClusterDraft draft{
      .name = options.name,
      .sources = SourceNames(sources, options),
      .is_part = !options.nodes.empty() || !options.partitions.empty()};
  std::optional<OwnFile> own;
  if (options.own.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(own, ParseOwnFile(*options.own));
  }
  TANGRAM_ASSIGN_OR_RETURN(const Inventory inventory, ReadSources(sources));
  draft.notes = inventory.notes;
  TANGRAM_RETURN_IF_ERROR(GroupNodes(
      inventory.nodes, options,
      own.has_value() ? GpuTypesOf(*own) : std::vector<std::string>(), draft));
  if (draft.groups.empty()) return NothingLeft(draft);
  TANGRAM_RETURN_IF_ERROR(SetWiring(inventory.topologies, draft));
  TANGRAM_RETURN_IF_ERROR(SetMeasuredLinks(inventory.runs, draft));
  if (own.has_value()) TANGRAM_RETURN_IF_ERROR(MergeOwnFile(*own, draft));
  return draft;
}

}  // namespace

absl::StatusOr<ImportedCluster> ImportCluster(
    absl::Span<const ClusterSource> sources,
    const ClusterImportOptions& options) {
  TANGRAM_ASSIGN_OR_RETURN(ClusterDraft draft, MakeDraft(sources, options));
  ImportedCluster imported;
  TANGRAM_ASSIGN_OR_RETURN(
      imported.cluster,
      ParseCluster(WriteCluster(draft, {}), "the imported cluster"));
  imported.yaml = WriteCluster(draft, imported.cluster.assumptions);
  imported.skipped = std::move(draft.skipped);
  imported.notes = std::move(draft.notes);
  return imported;
}

}  // namespace tangram
