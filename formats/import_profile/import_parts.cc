#include "formats/import_profile/import_parts.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/catalogue/assemble_model.h"
#include "formats/config/device_catalogue.h"

namespace tangram {
namespace {

// Exabytes, or nanoseconds of 30 years: larger numbers are damage.
constexpr double kMostOfAnything = 1e18;

template <typename Point, typename Size>
void SortBySize(std::vector<Point>& points, Size size) {
  std::stable_sort(
      points.begin(), points.end(),
      [size](const Point& a, const Point& b) { return size(a) < size(b); });
  points.erase(std::unique(points.begin(), points.end(),
                           [size](const Point& a, const Point& b) {
                             return size(a) == size(b);
                           }),
               points.end());
}

}  // namespace

std::string KnownDevice(absl::string_view name) {
  const CatalogueDevice* known = FindDevice(name);
  return known == nullptr ? std::string(name) : known->device.type;
}

absl::StatusOr<std::vector<std::pair<std::string, ConfigField>>> Members(
    const ConfigField& mapping) {
  TANGRAM_RETURN_IF_ERROR(mapping.CheckMapping());
  std::vector<std::pair<std::string, ConfigField>> members;
  for (const std::string& key : mapping.Keys()) {
    if (const auto field = mapping.Find(key)) members.emplace_back(key, *field);
  }
  return members;
}

absl::StatusOr<std::vector<std::pair<int, ConfigField>>> NumberedMembers(
    const ConfigField& mapping) {
  TANGRAM_ASSIGN_OR_RETURN(const auto members, Members(mapping));
  std::vector<std::pair<int, ConfigField>> numbered;
  for (const auto& [key, field] : members) {
    int number = 0;
    if (absl::SimpleAtoi(key, &number)) numbered.emplace_back(number, field);
  }
  std::stable_sort(
      numbered.begin(), numbered.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  return numbered;
}

absl::StatusOr<std::vector<double>> Numbers(const ConfigField& list) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           list.Elements());
  std::vector<double> numbers;
  numbers.reserve(fields.size());
  for (const ConfigField& field : fields) {
    TANGRAM_ASSIGN_OR_RETURN(numbers.emplace_back(),
                             field.AsNumber(0, kMostOfAnything));
  }
  return numbers;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

absl::Status SetDevice(absl::string_view found, absl::string_view file,
                       const ImportOptions& options, Profile& profile) {
  if (!options.device.empty()) {
    profile.device = KnownDevice(options.device);
    return absl::OkStatus();
  }
  if (found.empty()) {
    if (!profile.device.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": device: missing; expected the GPU type, given by --device"));
  }
  const std::string device = KnownDevice(found);
  if (profile.device.empty()) profile.device = device;
  if (profile.device == device) return absl::OkStatus();
  return FieldError(absl::StrCat(file, ": device"), device,
                    absl::StrCat(profile.device, ", as in the files before"));
}

int AddModel(ModelSpec model, Profile& profile) {
  for (size_t i = 0; i < profile.models.size(); ++i) {
    const ModelSpec& other = profile.models[i];
    if (other.name == model.name && other.layers == model.layers) {
      return static_cast<int>(i);
    }
  }
  profile.models.push_back(std::move(model));
  return static_cast<int>(profile.models.size()) - 1;
}

ModelSpec GptModel(const GptDimensions& dimensions) {
  const int head_dim = dimensions.hidden_size / dimensions.num_heads;
  const LayerSpec layer = {.kind = LayerKind::kTransformer,
                           .hidden_size = dimensions.hidden_size,
                           .num_heads = dimensions.num_heads,
                           .num_kv_heads = dimensions.num_heads,
                           .head_dim = head_dim,
                           .value_head_dim = head_dim,
                           .ffn_hidden_size = dimensions.ffn_hidden_size,
                           .linear_bias = true,
                           .norm_bias = true};
  return AssembleModel(dimensions.name,
                       {.size = dimensions.vocab_size,
                        .max_position_embeddings = dimensions.sequence_length,
                        .tied = true},
                       std::vector<LayerSpec>(dimensions.num_layers, layer));
}

void AddPoint(const ProfileEntry& shape, const ProfilePoint& point,
              Profile& profile) {
  for (ProfileEntry& entry : profile.entries) {
    ProfileEntry same = shape;
    same.points = entry.points;
    same.optimizer_s = entry.optimizer_s;
    same.state_bytes = entry.state_bytes;
    if (!(entry == same)) continue;
    entry.points.push_back(point);
    return;
  }
  profile.entries.push_back(shape);
  profile.entries.back().points = {point};
}

void AddPoint(const MeasuredCollective& shape, const CollectivePoint& point,
              Profile& profile) {
  for (MeasuredCollective& table : profile.collectives) {
    if (ComesBefore(table, shape) || ComesBefore(shape, table)) continue;
    table.points.push_back(point);
    return;
  }
  profile.collectives.push_back(shape);
  profile.collectives.back().points = {point};
}

void PutInOrder(Profile& profile) {
  std::stable_partition(
      profile.entries.begin(), profile.entries.end(),
      [](const ProfileEntry& entry) { return !entry.op.has_value(); });
  for (ProfileEntry& entry : profile.entries) {
    SortBySize(entry.points, [](const ProfilePoint& p) { return p.samples; });
  }
  for (MeasuredCollective& table : profile.collectives) {
    SortBySize(table.points, [](const CollectivePoint& p) { return p.bytes; });
  }
}

}  // namespace tangram
