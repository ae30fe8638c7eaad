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

// Helpers of several importers; for formats/import_profile only.
namespace tangram {

inline constexpr double kMiB = 1024.0 * 1024.0;

// Returns the catalogue's name of a device, or `name` if it is not there.
std::string KnownDevice(absl::string_view name);

// Returns the members of a mapping, in the order of the file.
absl::StatusOr<std::vector<std::pair<std::string, ConfigField>>> Members(
    const ConfigField& mapping);

// Returns the members whose keys are numbers, the smallest first.
absl::StatusOr<std::vector<std::pair<int, ConfigField>>> NumberedMembers(
    const ConfigField& mapping);

// Reads a list of numbers that are not negative.
absl::StatusOr<std::vector<double>> Numbers(const ConfigField& list);

double Median(std::vector<double> values);

// Sets the device, or checks that it is the one already set. `found` is the
// name in the file, empty if it has none.
absl::Status SetDevice(absl::string_view found, absl::string_view file,
                       const ImportOptions& options, Profile& profile);

// Returns the index of the model in the profile. Adds the model if none is
// equal.
int AddModel(ModelSpec model, Profile& profile);

// Dimensions of a decoder with learned positions and biases everywhere (GPT-2,
// OPT).
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

// Sorts layers before operators, and the points of all entries and tables by
// size. The first of equal sizes stays.
void PutInOrder(Profile& profile);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PARTS_H_
