#ifndef TANGRAM_FORMATS_CONFIG_HF_REFUSED_H_
#define TANGRAM_FORMATS_CONFIG_HF_REFUSED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_family.h"

namespace tangram {

// Returns OK unless the type, an architecture or a field of a config.json shows
// a model whose layers nothing here can describe: kUnimplemented with the
// reason, the nearest family and what to do. `text` is the part of `file` about
// the language model, `type` its model_type, `family` its family; null if it is
// unknown.
absl::Status CheckHfModelled(const ConfigField& text, const ConfigField& file,
                             absl::string_view type, const HfFamily* family);

// Returns OK unless one of the architectures is of a model that guesses ahead
// for another one; the error is like that above, and `family` its nearest.
absl::Status CheckHfClasses(const ConfigField& text,
                            const std::vector<std::string>& classes,
                            absl::string_view family);

// Returns that error. `reason` completes "expected a model that can be planned;
// ...".
absl::Status RefuseHf(const ConfigField& text, absl::string_view reason,
                      absl::string_view nearest);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_REFUSED_H_
