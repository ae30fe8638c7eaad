#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/config/training_names.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"

// Imports profiles of Galvatron (2211.13878), as its profiler writes them:
//   computation_profiling_<precision>_<model>.json: layertype_0_bsz<B>_seq<S>,
//       forward milliseconds of a layer and sample at tp 1
//   memory_profiling_<precision>_<model>.json: layertype_0: {<S>:
//       {tp_activation_per_bsz_dict: {<tp>: MiB of a sample}}}
//   sp_time_<n>nodes_<g>gpus_per_node.json: <op>_size_<ranks>_<n>MB_time, ms
namespace tangram {
namespace {

// Galvatron measures only the forward pass and assumes this ratio.
constexpr double kBackwardOverForward = 2;

struct LayerTime {
  std::optional<int> samples;
  std::optional<int> sequence_length;
  double ms_per_sample = 0;
};

struct GalvatronProfile {
  std::optional<Precision> precision;
  std::vector<LayerTime> times;
  // Activations of a sample at tp 1, in MiB; keys are tokens, 0 is any length.
  std::map<int, double> saved_mib;
  std::vector<std::string> notes;
};

// Returns the number after `word` in the parts of "layertype_0_bsz8_seq2048".
std::optional<int> NumberOf(absl::string_view word,
                            const std::vector<absl::string_view>& parts) {
  for (absl::string_view part : parts) {
    int number = 0;
    if (absl::ConsumePrefix(&part, word) && absl::SimpleAtoi(part, &number)) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<Precision> PrecisionOfName(absl::string_view name) {
  for (const absl::string_view part :
       absl::StrSplit(name, absl::ByAnyChar("_./"))) {
    const absl::StatusOr<Precision> precision = ParsePrecision(part);
    if (precision.ok()) return *precision;
  }
  return std::nullopt;
}

void Note(std::string note, std::vector<std::string>& notes) {
  for (const std::string& old : notes) {
    if (old == note) return;
  }
  notes.push_back(std::move(note));
}

absl::Status ReadComputation(const ConfigField& root,
                             GalvatronProfile& profile) {
  TANGRAM_ASSIGN_OR_RETURN(const auto members, Members(root));
  for (const auto& [key, field] : members) {
    if (!absl::StartsWith(key, "layertype_")) continue;
    const std::vector<absl::string_view> parts = absl::StrSplit(key, '_');
    if (parts[1] != "0") {
      Note(absl::StrCat("layertype_", parts[1],
                        ": left out; it is not the one kind of layer of a "
                        "decoder"),
           profile.notes);
      continue;
    }
    LayerTime time = {.samples = NumberOf("bsz", parts),
                      .sequence_length = NumberOf("seq", parts)};
    TANGRAM_ASSIGN_OR_RETURN(time.ms_per_sample, field.AsNumber(0, 1e9));
    profile.times.push_back(time);
  }
  return absl::OkStatus();
}

absl::Status ReadActivations(const ConfigField& layer, int sequence_length,
                             GalvatronProfile& profile) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField by_tp,
                           layer.Require("tp_activation_per_bsz_dict",
                                         "MiB of a sample by tp degree"));
  const std::optional<ConfigField> whole = by_tp.Find("1");
  if (!whole.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(profile.saved_mib[sequence_length],
                           whole->AsNumber(0, 1e9));
  return absl::OkStatus();
}

absl::Status ReadMemory(const ConfigField& root, GalvatronProfile& profile) {
  for (const absl::string_view key : {"layertype_0", "layertype_0_sp"}) {
    const std::optional<ConfigField> layer = root.Find(key);
    if (!layer.has_value()) continue;
    if (layer->Find("tp_activation_per_bsz_dict").has_value()) {
      TANGRAM_RETURN_IF_ERROR(ReadActivations(*layer, 0, profile));
      continue;
    }
    TANGRAM_ASSIGN_OR_RETURN(const auto lengths, NumberedMembers(*layer));
    for (const auto& [length, of_length] : lengths) {
      TANGRAM_RETURN_IF_ERROR(ReadActivations(of_length, length, profile));
    }
  }
  Note(
      "memory of embedding, head and model state: left out; it is that of "
      "whole stages",
      profile.notes);
  return absl::OkStatus();
}

// Reads keys such as "allreduce_size_8_16MB_time".
absl::Status ReadCollectives(const ConfigField& root, Profile& profile) {
  TANGRAM_ASSIGN_OR_RETURN(const auto members, Members(root));
  for (const auto& [key, field] : members) {
    std::vector<absl::string_view> parts = absl::StrSplit(key, '_');
    int ranks = 0;
    int mib = 0;
    const bool is_time = parts.size() == 5 && parts[1] == "size" &&
                         parts[4] == "time" &&
                         absl::SimpleAtoi(parts[2], &ranks) && ranks > 1 &&
                         absl::ConsumeSuffix(&parts[3], "MB") &&
                         absl::SimpleAtoi(parts[3], &mib) && mib > 0;
    if (!is_time) continue;
    const bool is_reduce = parts[0] == "allreduce";
    if (!is_reduce && parts[0] != "all2all") continue;
    TANGRAM_ASSIGN_OR_RETURN(const double ms, field.AsNumber(1e-9, 1e9));
    AddPoint(
        {.op = is_reduce ? CollectiveOp::kAllReduce : CollectiveOp::kAllToAll,
         .ranks = ranks},
        {.bytes = mib * kMiB, .seconds = ms * 1e-3}, profile);
  }
  return absl::OkStatus();
}

absl::Status ReadFile(const ImportedFile& file, GalvatronProfile& galvatron,
                      Profile& profile) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file.text, file.name));
  const ConfigField root(value, file.name);
  if (absl::StrContains(file.name, "computation_profiling")) {
    galvatron.precision = PrecisionOfName(file.name);
    return ReadComputation(root, galvatron);
  }
  if (absl::StrContains(file.name, "memory_profiling")) {
    return ReadMemory(root, galvatron);
  }
  if (absl::StrContains(file.name, "sp_time_1nodes")) {
    return ReadCollectives(root, profile);
  }
  Note(absl::StrCat(file.name,
                    ": left out; bandwidths without sizes are the "
                    "links of a cluster file"),
       galvatron.notes);
  return absl::OkStatus();
}

// Activations of one sample at tp 1, in MiB; empty if not measured.
std::optional<double> SavedMib(const GalvatronProfile& galvatron,
                               int sequence_length) {
  auto saved = galvatron.saved_mib.find(sequence_length);
  if (saved == galvatron.saved_mib.end()) saved = galvatron.saved_mib.find(0);
  if (saved == galvatron.saved_mib.end()) return std::nullopt;
  return saved->second;
}

void AddTime(const LayerTime& time, const GalvatronProfile& galvatron,
             ProfileEntry shape, ImportResult& result) {
  if (time.sequence_length.has_value()) {
    shape.sequence_length = *time.sequence_length;
  }
  if (shape.sequence_length == 0 || !time.samples.has_value()) {
    return Note(time.samples.has_value()
                    ? "times without a sequence length: left out; --seq says it"
                    : "times without a number of samples: left out",
                result.notes);
  }
  const double forward_s = time.ms_per_sample * *time.samples * 1e-3;
  ProfilePoint point = {.samples = *time.samples,
                        .forward_s = forward_s,
                        .backward_s = kBackwardOverForward * forward_s};
  if (const auto saved = SavedMib(galvatron, shape.sequence_length)) {
    point.saved_bytes = *saved * kMiB * *time.samples;
  }
  AddPoint(shape, point, result.profile);
}

absl::Status AddTimes(const ImportedFile& file, const ImportOptions& options,
                      const GalvatronProfile& galvatron, ImportResult& result) {
  if (galvatron.times.empty()) return absl::OkStatus();
  const std::optional<Precision> precision =
      options.precision.has_value() ? options.precision : galvatron.precision;
  if (!options.model.has_value() || !precision.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.name, ": does not say the ",
        precision.has_value() ? "model; expected --model"
                              : "precision; expected --precision"));
  }
  const ProfileEntry shape = {
      .model = AddModel(*options.model, result.profile),
      .layer = 1,
      .precision = *precision,
      .sequence_length = options.sequence_length.value_or(0),
      .flash_attention = true};
  for (const LayerTime& time : galvatron.times) {
    AddTime(time, galvatron, shape, result);
  }
  Note("backward is not measured: twice the forward time is assumed",
       result.notes);
  Note("flash attention is assumed, as upstream runs it", result.notes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportResult> ImportGalvatron(Files files,
                                             const ImportOptions& options) {
  ImportResult result;
  GalvatronProfile galvatron;
  for (const ImportedFile& file : files) {
    TANGRAM_RETURN_IF_ERROR(ReadFile(file, galvatron, result.profile));
  }
  result.notes = galvatron.notes;
  TANGRAM_RETURN_IF_ERROR(
      SetDevice("", files[0].name, options, result.profile));
  TANGRAM_RETURN_IF_ERROR(AddTimes(files[0], options, galvatron, result));
  result.profile.source = absl::StrCat("Galvatron profile, ", files[0].name);
  return result;
}

}  // namespace tangram
