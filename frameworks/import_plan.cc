#include "frameworks/import_plan.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/lower_plan.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

constexpr PlanFormat kFormats[] = {
    {"flagscale", "YAML with heterogeneous meshes, and a host file",
     ImportFromFlagScale},
    {"aceso", "JSON for --flexpipe-config, and a host file", ImportFromAceso},
    {"megatron", "arguments of pretrain_gpt.py, and a host file",
     ImportFromMegatron},
    {"galvatron", "JSON of a strategy, runtime.yaml and a host file",
     ImportFromGalvatron},
};

// Notes the files that are neither configuration nor host file.
void NoteOtherFiles(const ImportRequest& request, absl::string_view format,
                    std::vector<std::string>& notes) {
  for (const FrameworkFile& file : request.files) {
    const absl::string_view name = BaseName(file.name);
    if (absl::EndsWith(name, ".sh") ||
        (format == "flagscale" && absl::StrContains(name, "experiment"))) {
      notes.push_back(absl::StrCat(file.name, ": not read"));
    }
  }
}

}  // namespace

absl::Span<const PlanFormat> PlanFormats() { return kFormats; }

absl::StatusOr<ImportedPlan> ImportPlan(absl::string_view format,
                                        const ImportRequest& request) {
  for (const PlanFormat& known : kFormats) {
    if (known.name != format) continue;
    TANGRAM_ASSIGN_OR_RETURN(ImportedPlan imported, known.read(request));
    NoteOtherFiles(request, format, imported.notes);
    if (imported.training.sequence_length == 0) {
      imported.training.sequence_length = request.usual_sequence_length;
    }
    TANGRAM_RETURN_IF_ERROR(ValidatePlan(request.model, request.cluster,
                                         imported.training, imported.plan));
    imported.plan = CanonicalPlan(request.model, std::move(imported.plan));
    return imported;
  }
  return FieldError(
      "format", format,
      absl::StrCat("one of ",
                   absl::StrJoin(kFormats, ", ",
                                 [](std::string* out, const PlanFormat& known) {
                                   absl::StrAppend(out, known.name);
                                 })));
}

}  // namespace tangram
