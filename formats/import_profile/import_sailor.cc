#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"
#include "formats/import_profile/sailor_profile.h"

// Interprets the layer profiles of Sailor (see sailor_profile.h).
namespace tangram {
namespace {

constexpr double kBytesOfFloat = 4;  // fp32.
// Upstream runs the embedding, two transformer layers and the layers after
// them. It writes the optimizer's total time divided by the number of layers.
constexpr int kRunTransformerLayers = 2;

// The layers of the model in the profile's numbering.
struct Numbering {
  int num_transformer_layers = 0;
  int num_trailing = 0;  // Layers after the transformer layers.
};

double SumFrom(const std::vector<double>& values, int begin) {
  double sum = 0;
  for (size_t i = begin; i < values.size(); ++i) sum += values[i];
  return sum;
}

double MedianTransformer(const std::vector<double>& values,
                         const Numbering& numbering) {
  return Median(std::vector<double>(
      values.begin() + 1,
      values.begin() + 1 + numbering.num_transformer_layers));
}

// Shares of the parameters that one GPU updates, among all layers that upstream
// ran: of one transformer layer, and of all layers after them.
struct ParameterShares {
  double transformer = 0;
  double trailing = 0;
};

// Let P_e, P_t and P_r be the parameters of the embedding, of one transformer
// layer and of the rest. All that upstream ran is P_e + 2·P_t + P_r.
ParameterShares SharesOf(const SailorFloats& floats,
                         const Numbering& numbering) {
  const double transformer = MedianTransformer(floats.parameters, numbering);
  const double trailing =
      SumFrom(floats.parameters, 1 + numbering.num_transformer_layers);
  const double all =
      floats.parameters[0] + kRunTransformerLayers * transformer + trailing;
  return {.transformer = transformer / all, .trailing = trailing / all};
}

// Adds the transformer layer and the head for each tp degree and batch size.
class SailorImporter {
 public:
  SailorImporter(const SailorProfile& sailor, const Numbering& numbering,
                 ProfileEntry shape, ImportResult& result)
      : sailor_(sailor),
        numbering_(numbering),
        shape_(std::move(shape)),
        result_(result) {}

  void AddAll() {
    Note(
        "embedding: left out; a hook on the first layer does not see its "
        "backward pass");
    for (const auto& [key, seconds] : sailor_.seconds) {
      Add(key.first, key.second, seconds);
    }
  }

 private:
  const LayerSpec& Head() const {
    return result_.profile.models[shape_.model].layers.back();
  }

  // Adds a note once; the same note arises for many batch sizes.
  void Note(const std::string& note) {
    std::vector<std::string>& notes = result_.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }

  const SailorFloats* FloatsAt(int tp) const {
    const auto it = sailor_.floats.find(tp);
    const size_t num_layers =
        1 + numbering_.num_transformer_layers + numbering_.num_trailing;
    return it == sailor_.floats.end() ||
                   it->second.parameters.size() != num_layers ||
                   it->second.activations.size() != num_layers
               ? nullptr
               : &it->second;
  }

  // Returns whether the layers after the last transformer layer contain the
  // vocabulary projection. In some models upstream's last layer is only the
  // final norm.
  bool HasProjection(int tp, const SailorFloats& floats) const {
    const double projection = 1.0 * Head().hidden_size * Head().vocab_size / tp;
    return SumFrom(floats.parameters, 1 + numbering_.num_transformer_layers) >
           projection / 2;
  }

  void Add(int tp, int samples, const SailorSeconds& seconds) {
    const SailorFloats* floats = FloatsAt(tp);
    ProfileEntry entry = shape_;
    entry.parallelism.tp_degree = tp;
    entry.collectives_included = tp > 1;
    AddTransformer(entry, samples, seconds, floats);
    const std::string why = WhyNoHead(tp, floats);
    if (why.empty()) {
      AddHead(entry, samples, seconds, *floats);
    } else {
      Note(absl::StrCat("head: ", why));
    }
  }

  void AddTransformer(ProfileEntry entry, int samples,
                      const SailorSeconds& seconds,
                      const SailorFloats* floats) {
    entry.layer = 1;
    ProfilePoint point = {
        .samples = samples,
        .forward_s = MedianTransformer(seconds.forward, numbering_),
        .backward_s = MedianTransformer(seconds.backward, numbering_)};
    if (floats != nullptr) {
      point.saved_bytes = samples * kBytesOfFloat *
                          MedianTransformer(floats->activations, numbering_);
    }
    if (const auto shares = UpdateShares(seconds, floats)) {
      Note(
          "update: read as the mean over the embedding, two transformer "
          "layers and the layers after them, divided by parameters");
      entry.optimizer_s = shares->transformer * RunUpdateSeconds(seconds);
    }
    AddPoint(entry, point, result_.profile);
  }

  void AddHead(ProfileEntry entry, int samples, const SailorSeconds& seconds,
               const SailorFloats& floats) {
    const int first = 1 + numbering_.num_transformer_layers;
    entry.layer = result_.profile.models[shape_.model].num_layers() - 1;
    if (const auto shares = UpdateShares(seconds, &floats)) {
      entry.optimizer_s = shares->trailing * RunUpdateSeconds(seconds);
    }
    AddPoint(entry,
             {.samples = samples,
              .forward_s = SumFrom(seconds.forward, first),
              .backward_s = SumFrom(seconds.backward, first),
              .saved_bytes =
                  samples * kBytesOfFloat * SumFrom(floats.activations, first)},
             result_.profile);
  }

  // Update time of all layers that upstream ran; see kRunTransformerLayers.
  double RunUpdateSeconds(const SailorSeconds& seconds) const {
    return seconds.update.back() *
           (1 + kRunTransformerLayers + numbering_.num_trailing);
  }

  std::optional<ParameterShares> UpdateShares(
      const SailorSeconds& seconds, const SailorFloats* floats) const {
    if (floats == nullptr || seconds.update.back() <= 0) return std::nullopt;
    return SharesOf(*floats, numbering_);
  }

  // Returns why there is no head; empty if there is one.
  std::string WhyNoHead(int tp, const SailorFloats* floats) const {
    if (numbering_.num_trailing == 0) return "left out; not measured";
    if (floats == nullptr) {
      return "left out; without the parameter counts of llm_info.json it is "
             "not known whether the last layer is the vocabulary projection";
    }
    if (!HasProjection(tp, *floats)) {
      return "left out; the last layer is the final norm alone";
    }
    return "";
  }

  const SailorProfile& sailor_;
  const Numbering numbering_;
  const ProfileEntry shape_;
  ImportResult& result_;
};

absl::StatusOr<ModelSpec> ModelOf(const SailorProfile& sailor,
                                  const ImportedFile& file,
                                  const ImportOptions& options) {
  if (options.model.has_value()) return *options.model;
  if (sailor.dimensions.has_value()) return GptModel(*sailor.dimensions);
  return absl::InvalidArgumentError(
      absl::StrCat(file.name,
                   ": geometry: missing; expected the dimensions of the model, "
                   "given by --model"));
}

absl::StatusOr<Numbering> NumberingOf(const SailorProfile& sailor,
                                      const ImportedFile& file,
                                      const ModelSpec& model) {
  Numbering numbering = {.num_transformer_layers = model.num_layers() - 2};
  if (sailor.seconds.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name, ": no times; expected a layer profile"));
  }
  const int num_layers =
      static_cast<int>(sailor.seconds.begin()->second.forward.size());
  for (const auto& [key, seconds] : sailor.seconds) {
    if (static_cast<int>(seconds.forward.size()) != num_layers ||
        num_layers <= numbering.num_transformer_layers) {
      return FieldError(
          absl::StrCat(file.name, ": tp ", key.first, ", ", key.second,
                       " samples"),
          absl::StrCat(seconds.forward.size(), " layers"),
          absl::StrCat("the same everywhere, and an embedding with the ",
                       numbering.num_transformer_layers,
                       " transformer layers of ", model.name));
    }
  }
  numbering.num_trailing = num_layers - 1 - numbering.num_transformer_layers;
  return numbering;
}

// Checks counted parameters, if any, against those of the model: they show
// whether it is the model that was measured.
absl::Status CheckParameters(const SailorProfile& sailor,
                             const ImportedFile& file, const ModelSpec& model,
                             const Numbering& numbering) {
  // Biases and norms, which profilers count differently, are under 1 % of a
  // layer; the next model of a family differs by far more than 5 %.
  constexpr double kTolerance = 0.05;
  const double expected = ParameterCount(model.layers[1]);
  for (const auto& [tp, floats] : sailor.floats) {
    if (static_cast<int>(floats.parameters.size()) <=
        numbering.num_transformer_layers) {
      continue;
    }
    const double counted = tp * MedianTransformer(floats.parameters, numbering);
    if (std::abs(counted / expected - 1) <= kTolerance) continue;
    return FieldError(absl::StrCat(file.name, ": params_floats"),
                      absl::StrCat(counted, " in a transformer layer"),
                      absl::StrCat("about ", expected, " as in ", model.name,
                                   ", or another --model"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportResult> ImportSailor(Files files,
                                          const ImportOptions& options) {
  ImportResult result;
  SailorProfile sailor;
  for (const ImportedFile& file : files) {
    TANGRAM_RETURN_IF_ERROR(ReadSailorFile(file, options, sailor));
  }
  TANGRAM_RETURN_IF_ERROR(
      SetDevice(sailor.gpu, files[0].name, options, result.profile));
  TANGRAM_ASSIGN_OR_RETURN(const ModelSpec model,
                           ModelOf(sailor, files[0], options));
  TANGRAM_ASSIGN_OR_RETURN(const Numbering numbering,
                           NumberingOf(sailor, files[0], model));
  TANGRAM_RETURN_IF_ERROR(CheckParameters(sailor, files[0], model, numbering));
  ProfileEntry shape = {.precision =
                            options.precision.value_or(Precision::kFp32)};
  shape.sequence_length = options.sequence_length.value_or(
      sailor.dimensions.has_value() ? sailor.dimensions->sequence_length : 0);
  if (shape.sequence_length == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(files[0].name,
                     ": sequence length: missing; expected "
                     "tokens per sample, given by --seq"));
  }
  result.profile.source = absl::StrCat("Sailor layer profile of ",
                                       sailor.model_name, ", ", files[0].name);
  result.profile.framework = "Sailor (Megatron-DeepSpeed)";
  shape.model = AddModel(model, result.profile);
  SailorImporter(sailor, numbering, shape, result).AddAll();
  return result;
}

}  // namespace tangram
