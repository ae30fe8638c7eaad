#include "common/parallelizer/parallelizer_list.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"

namespace tangram {

bool IsNativeParallelizer(absl::string_view name) {
  return absl::c_linear_search(kNativeParallelizers, name);
}

absl::StatusOr<std::vector<std::string>> SplitParallelizerList(
    absl::string_view list) {
  if (absl::StartsWith(list, kExecPrefix)) return {{std::string(list)}};
  std::vector<std::string> names;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    std::string name(absl::StripAsciiWhitespace(part));
    if (name.empty() || absl::c_linear_search(names, name)) {
      return FieldError("parallelizer", absl::StrCat("\"", list, "\""),
                        "different names separated by commas, or all");
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tangram
