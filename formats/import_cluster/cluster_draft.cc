#include "formats/import_cluster/cluster_draft.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace tangram {

const DraftField* FindField(const DraftFields& fields, absl::string_view key) {
  const auto it = absl::c_find_if(
      fields, [key](const DraftField& field) { return field.key == key; });
  return it == fields.end() ? nullptr : &*it;
}

void SetField(DraftField field, DraftFields& fields) {
  for (DraftField& known : fields) {
    if (known.key != field.key) continue;
    known = std::move(field);
    return;
  }
  fields.push_back(std::move(field));
}

}  // namespace tangram
