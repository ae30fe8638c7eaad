#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_FORMATS_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_FORMATS_H_

#include "formats/import_profile/import_profile.h"

// The importers, one import_<name>.cc each; for formats/import_profile only.
namespace tangram {

using Files = absl::Span<const ImportedFile>;

absl::StatusOr<ImportResult> ImportAceso(Files files,
                                         const ImportOptions& options);
absl::StatusOr<ImportResult> ImportGalvatron(Files files,
                                             const ImportOptions& options);
absl::StatusOr<ImportResult> ImportMetis(Files files,
                                         const ImportOptions& options);
absl::StatusOr<ImportResult> ImportMist(Files files,
                                        const ImportOptions& options);
absl::StatusOr<ImportResult> ImportNccl(Files files,
                                        const ImportOptions& options);
absl::StatusOr<ImportResult> ImportSailor(Files files,
                                          const ImportOptions& options);
absl::StatusOr<ImportResult> ImportSailorLinks(Files files,
                                               const ImportOptions& options);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_FORMATS_H_
