#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_SAILOR_PROFILE_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_SAILOR_PROFILE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "formats/import_profile/import_parts.h"
#include "formats/import_profile/import_profile.h"

// The content of Sailor's files, before it is interpreted; for
// formats/import_profile only.
//
// Layer profiles of Sailor (2504.17096) have forward, backward and update
// seconds for each number of samples and tp degree: of layer 0 (embedding), of
// the transformer layers and of the layers after them. Hooks on whole layers
// measured them, so the times include the tp all-reduces and no recomputation.
// For each tp degree there are also the numbers of fp32 values in the
// parameters and in the activations of one sample.
//   upstream: profile.json {samples: {tp: {layer: [forward, backward,
//   update]}}}
//             llm_info.json {model: {tp: {layer: {params_floats, ...}}}}
//   gathered: {model, gpu, geometry, profiles: {samples: {tp: {fwd_s: [...],
//             bwd_s, update_s}}}, memory: {tp: {params_floats: [...], ...}}}
namespace tangram {

// Seconds of each layer, embedding first.
struct SailorSeconds {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> update;  // Optimizer step; see import_sailor.cc.
};

// Numbers of fp32 values of each layer on one GPU, embedding first.
struct SailorFloats {
  std::vector<double> parameters;
  std::vector<double> activations;  // For one sample.
};

struct SailorProfile {
  std::string model_name;
  std::string gpu;
  std::optional<GptDimensions> dimensions;
  std::map<std::pair<int, int>, SailorSeconds> seconds;  // Keys: tp, samples.
  std::map<int, SailorFloats> floats;                    // Keys: tp.
};

// Adds the content of one file: gathered, or one of upstream's two.
absl::Status ReadSailorFile(const ImportedFile& file,
                            const ImportOptions& options,
                            SailorProfile& sailor);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_SAILOR_PROFILE_H_
