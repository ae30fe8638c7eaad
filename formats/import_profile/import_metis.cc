#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"

// Imports profiles of Metis (ATC 2024). For each device type, tp degree and
// number of samples they have the forward and backward milliseconds of each
// layer together, embedding first, with the tp collectives.
//   upstream: DeviceType.<type>_tp<n>_bs<n>.json with
//             execution_time.layer_compute_total_ms
//   gathered: {profiles: {<type>: {tp<n>: {mbs<n>: {layer_fwd_bwd_ms}}}}}
namespace tangram {
namespace {

// Share of the forward pass in the time of both. A layer has three products of
// equal size, one in the forward pass and two in the backward pass.
constexpr double kForwardShare = 1.0 / 3;

struct MetisTimes {
  std::string device;
  int tp = 0;
  int samples = 0;
  std::vector<double> layer_ms;
};

std::optional<int> NumberAfter(absl::string_view prefix,
                               absl::string_view text) {
  int number = 0;
  if (!absl::ConsumePrefix(&text, prefix) || !absl::SimpleAtoi(text, &number) ||
      number < 1) {
    return std::nullopt;
  }
  return number;
}

// Reads the shape from a name such as "DeviceType.A100_tp2_bs4.json".
absl::StatusOr<MetisTimes> ShapeOfName(const std::string& path) {
  absl::string_view name = path;
  const size_t slash = name.rfind('/');
  if (slash != absl::string_view::npos) name.remove_prefix(slash + 1);
  absl::ConsumePrefix(&name, "DeviceType.");
  absl::ConsumeSuffix(&name, ".json");
  const size_t bs = name.rfind("_bs");
  const size_t tp = bs == absl::string_view::npos ? bs : name.rfind("_tp", bs);
  if (tp != absl::string_view::npos) {
    const auto degree = NumberAfter("_tp", name.substr(tp, bs - tp));
    const auto samples = NumberAfter("_bs", name.substr(bs));
    if (degree.has_value() && samples.has_value()) {
      return MetisTimes{.device = std::string(name.substr(0, tp)),
                        .tp = *degree,
                        .samples = *samples};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": name; expected DeviceType.<type>_tp<n>_bs<n>.json"));
}

absl::StatusOr<std::vector<double>> LayerTimes(const ConfigField& parent,
                                               absl::string_view key) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           parent.Require(key, "a list of milliseconds"));
  return Numbers(list);
}

absl::Status ReadGathered(const ConfigField& profiles,
                          std::vector<MetisTimes>& all) {
  TANGRAM_ASSIGN_OR_RETURN(const auto devices, Members(profiles));
  for (const auto& [device, by_tp] : devices) {
    TANGRAM_ASSIGN_OR_RETURN(const auto degrees, Members(by_tp));
    for (const auto& [tp, by_samples] : degrees) {
      TANGRAM_ASSIGN_OR_RETURN(const auto batches, Members(by_samples));
      for (const auto& [samples, times] : batches) {
        const auto degree = NumberAfter("tp", tp);
        const auto count = NumberAfter("mbs", samples);
        if (!degree.has_value() || !count.has_value()) {
          return times.Error("a place such as tp2.mbs4");
        }
        TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> layer_ms,
                                 LayerTimes(times, "layer_fwd_bwd_ms"));
        all.push_back({device, *degree, *count, layer_ms});
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFile(const ImportedFile& file, std::vector<MetisTimes>& all) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file.text, file.name));
  const ConfigField root(value, file.name);
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  if (const auto profiles = root.Find("profiles")) {
    return ReadGathered(*profiles, all);
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField execution,
      root.Require("execution_time", "layer_compute_total_ms in a mapping"));
  TANGRAM_ASSIGN_OR_RETURN(MetisTimes times, ShapeOfName(file.name));
  TANGRAM_ASSIGN_OR_RETURN(times.layer_ms,
                           LayerTimes(execution, "layer_compute_total_ms"));
  all.push_back(std::move(times));
  return absl::OkStatus();
}

absl::Status CheckOptions(const ImportedFile& file,
                          const ImportOptions& options) {
  const auto missing = [&file](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name, ": does not say the ", what));
  };
  if (!options.model.has_value()) return missing("model; expected --model");
  if (!options.precision.has_value()) {
    return missing("precision; expected --precision");
  }
  if (!options.sequence_length.has_value()) {
    return missing("tokens of a sample; expected --seq");
  }
  return absl::OkStatus();
}

// Adds the median time of the transformer layers.
absl::Status AddTimes(const MetisTimes& times, const std::string& file,
                      const ModelSpec& model, ProfileEntry shape,
                      Profile& profile) {
  const int num_layers = model.num_layers() - 2;
  if (static_cast<int>(times.layer_ms.size()) <= num_layers) {
    return FieldError(file, absl::StrCat(times.layer_ms.size(), " layers"),
                      absl::StrCat("an embedding and the ", num_layers,
                                   " transformer layers of ", model.name));
  }
  const auto first = times.layer_ms.begin() + 1;
  const double seconds =
      1e-3 * Median(std::vector<double>(first, first + num_layers));
  shape.parallelism.tp_degree = times.tp;
  shape.collectives_included = times.tp > 1;
  AddPoint(shape,
           {.samples = times.samples,
            .forward_s = kForwardShare * seconds,
            .backward_s = (1 - kForwardShare) * seconds},
           profile);
  return absl::OkStatus();
}

// Keeps the chosen GPU type if there are several. A single type is always kept,
// so that the user may give it another name.
std::vector<MetisTimes> Chosen(const std::vector<MetisTimes>& all,
                               const ImportOptions& options) {
  std::vector<MetisTimes> chosen;
  bool several = false;
  for (const MetisTimes& times : all) {
    several = several || times.device != all.front().device;
    if (KnownDevice(times.device) == KnownDevice(options.device)) {
      chosen.push_back(times);
    }
  }
  return several && !options.device.empty() ? chosen : all;
}

}  // namespace

absl::StatusOr<ImportResult> ImportMetis(Files files,
                                         const ImportOptions& options) {
  TANGRAM_RETURN_IF_ERROR(CheckOptions(files[0], options));
  std::vector<MetisTimes> all;
  for (const ImportedFile& file : files) {
    TANGRAM_RETURN_IF_ERROR(ReadFile(file, all));
  }
  ImportResult result;
  const ProfileEntry shape = {.model = AddModel(*options.model, result.profile),
                              .layer = 1,
                              .precision = *options.precision,
                              .sequence_length = *options.sequence_length};
  const std::vector<MetisTimes> chosen = Chosen(all, options);
  for (const MetisTimes& times : chosen) {
    TANGRAM_RETURN_IF_ERROR(
        SetDevice(times.device, files[0].name, options, result.profile));
    TANGRAM_RETURN_IF_ERROR(
        AddTimes(times, files[0].name, *options.model, shape, result.profile));
  }
  result.notes = {
      "forward and backward are measured together: split 1 to 2",
      "embedding and head: left out; the file does not say what they contain",
      "optimizer and memory: left out; they are those of the whole model, "
      "including its state"};
  if (chosen.size() < all.size()) {
    result.notes.push_back(absl::StrCat(all.size() - chosen.size(),
                                        " times of other GPUs: left out"));
  }
  result.profile.source = absl::StrCat("Metis profile, ", files[0].name);
  return result;
}

}  // namespace tangram
