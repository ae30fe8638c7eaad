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

// What the files of Sailor hold, before it is interpreted; inside
// formats/import_profile only.
//
// Layer profiles of Sailor (2504.17096): for each number of samples and tp
// degree the forward, backward and update seconds of layer 0 (embedding), the
// transformer layers and what follows them, by hooks on whole layers, so with
// the tp all-reduces and without recomputation; and by tp degree how many
// fp32 numbers the parameters and the activations of one sample are.
//   upstream: profile.json {samples: {tp: {layer: [forward, backward,
//   update]}}}
//             llm_info.json {model: {tp: {layer: {params_floats, ...}}}}
//   gathered: {model, gpu, geometry, profiles: {samples: {tp: {fwd_s: [...],
//             bwd_s, update_s}}}, memory: {tp: {params_floats: [...], ...}}}
namespace tangram {

// Of each layer, embedding first.
struct SailorSeconds {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> update;
};

struct SailorFloats {
  std::vector<double> parameters;
  std::vector<double> activations;  // Of one sample.
};

struct SailorProfile {
  std::string model_name;
  std::string gpu;
  std::optional<GptDimensions> dimensions;
  std::map<std::pair<int, int>, SailorSeconds> seconds;  // By tp, samples.
  std::map<int, SailorFloats> floats;                    // By tp.
};

// Adds what one file says: gathered, or one of upstream's two.
absl::Status ReadSailorFile(const ImportedFile& file,
                            const ImportOptions& options,
                            SailorProfile& sailor);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_SAILOR_PROFILE_H_
