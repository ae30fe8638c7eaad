#ifndef TANGRAM_FORMATS_EXPORT_PROFILE_EXPORT_PROFILE_H_
#define TANGRAM_FORMATS_EXPORT_PROFILE_EXPORT_PROFILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"

// Writes the times that plans are judged by as the profiles that other planners
// read. So those programs plan on the very same times.
namespace tangram {

// A file to write, with a path inside the folder of the export.
struct ProfileFile {
  std::string name;
  std::string text;
  bool operator==(const ProfileFile&) const = default;
};

// The profiled job. Refers to its parts.
struct ProfiledJob {
  const ModelSpec& model;
  const Cluster& cluster;
  const TrainingOptions& training;
  const LayerProfiles& profiles;
};

struct ProfileExport {
  std::vector<ProfileFile> files;
  // Facts that the format cannot hold or that are read otherwise there.
  std::vector<std::string> notes;
};

// A planner whose files are written.
struct ProfileTarget {
  absl::string_view name;
  ProfileExport (*write)(const ProfiledJob& job);
};

// Sorted by name.
absl::Span<const ProfileTarget> ProfileTargets();

// Returns the files for the planner of that name. Names of the model and of GPU
// types become words in them, so that every file stays in the folder.
// kInvalidArgument: there is no such planner.
absl::StatusOr<ProfileExport> ExportProfile(absl::string_view target,
                                            const ProfiledJob& job);

// The targets, one export_<name>.cc each.
ProfileExport ExportAmp(const ProfiledJob& job);
ProfileExport ExportMetis(const ProfiledJob& job);
ProfileExport ExportSailor(const ProfiledJob& job);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_EXPORT_PROFILE_EXPORT_PROFILE_H_
