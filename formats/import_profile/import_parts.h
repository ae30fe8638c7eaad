#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PARTS_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/import_profile/import_profile.h"

// What several importers need; inside formats/import_profile only.
namespace tangram {

// The catalogue's name of a device, or the name as it is.
std::string KnownDevice(absl::string_view name);

// The members of a mapping, in the order of the file.
absl::StatusOr<std::vector<std::pair<std::string, ConfigField>>> Members(
    const ConfigField& mapping);

// The members whose keys are numbers, the smallest first.
absl::StatusOr<std::vector<std::pair<int, ConfigField>>> NumberedMembers(
    const ConfigField& mapping);

// A list of numbers from 0 on.
absl::StatusOr<std::vector<double>> Numbers(const ConfigField& list);

double Median(std::vector<double> values);

// Sets the device, or checks that it is the one already set. `found` is what a
// file says, empty if nothing.
absl::Status SetDevice(absl::string_view found, absl::string_view file,
                       const ImportOptions& options, Profile& profile);

// The index of the model in the profile, which is added if no equal one is
// there.
int AddModel(ModelSpec model, Profile& profile);

// A decoder with learned positions and biases everywhere (GPT-2, OPT).
struct GptDimensions {
  std::string name;
  int num_layers = 0;
  int hidden_size = 0;
  int num_heads = 0;
  int ffn_hidden_size = 0;
  int vocab_size = 0;
  int sequence_length = 0;
};
ModelSpec GptModel(const GptDimensions& dimensions);

// Adds the point to the entry of the same shape, or adds the entry.
void AddPoint(const ProfileEntry& shape, const ProfilePoint& point,
              Profile& profile);

// Adds the point to the table of that shape, or adds the table.
void AddPoint(const MeasuredCollective& shape, const CollectivePoint& point,
              Profile& profile);

// Layers before operators, the points of all entries and tables by size; of
// equal sizes the first stays.
void PutInOrder(Profile& profile);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PARTS_H_
