#include "formats/import_profile/sailor_profile.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

absl::StatusOr<std::vector<double>> NumbersAt(const ConfigField& parent,
                                              absl::string_view key) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           parent.Require(key, "a list of numbers"));
  return Numbers(list);
}

// Reads {"0": [forward, backward, update], "1": ...} or three lists.
absl::StatusOr<SailorSeconds> ReadSeconds(const ConfigField& field) {
  SailorSeconds seconds;
  if (field.Find("fwd_s").has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(seconds.forward, NumbersAt(field, "fwd_s"));
    TANGRAM_ASSIGN_OR_RETURN(seconds.backward, NumbersAt(field, "bwd_s"));
    TANGRAM_ASSIGN_OR_RETURN(seconds.update, NumbersAt(field, "update_s"));
  } else {
    TANGRAM_ASSIGN_OR_RETURN(const auto layers, NumberedMembers(field));
    for (const auto& [layer, list] : layers) {
      TANGRAM_ASSIGN_OR_RETURN(const std::vector<double> three, Numbers(list));
      if (three.size() != 3) {
        return list.Error("three numbers: forward, backward, update");
      }
      seconds.forward.push_back(three[0]);
      seconds.backward.push_back(three[1]);
      seconds.update.push_back(three[2]);
    }
  }
  if (seconds.forward.size() != seconds.backward.size() ||
      seconds.forward.size() != seconds.update.size()) {
    return field.Error("as many forward as backward and update times");
  }
  return seconds;
}

absl::StatusOr<SailorFloats> ReadFloats(const ConfigField& field) {
  SailorFloats floats;
  if (field.Find("params_floats").has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(floats.parameters,
                             NumbersAt(field, "params_floats"));
    TANGRAM_ASSIGN_OR_RETURN(floats.activations,
                             NumbersAt(field, "act_mem_floats"));
    return floats;
  }
  TANGRAM_ASSIGN_OR_RETURN(const auto layers, NumberedMembers(field));
  for (const auto& [layer, of_layer] : layers) {
    constexpr absl::string_view kExpected = "a number of floats";
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField parameters,
                             of_layer.Require("params_floats", kExpected));
    TANGRAM_ASSIGN_OR_RETURN(floats.parameters.emplace_back(),
                             parameters.AsNumber(0, 1e15));
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField activations,
                             of_layer.Require("act_mem_floats", kExpected));
    TANGRAM_ASSIGN_OR_RETURN(floats.activations.emplace_back(),
                             activations.AsNumber(0, 1e15));
  }
  return floats;
}

absl::StatusOr<GptDimensions> ReadGeometry(const ConfigField& field,
                                           const std::string& name) {
  GptDimensions dimensions = {.name = name};
  const auto read = [&field](absl::string_view key, int& value) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField given,
                             field.Require(key, "a positive integer"));
    TANGRAM_ASSIGN_OR_RETURN(value, given.AsInt(1, 1 << 24));
    return absl::OkStatus();
  };
  TANGRAM_RETURN_IF_ERROR(read("layers", dimensions.num_layers));
  TANGRAM_RETURN_IF_ERROR(read("hidden", dimensions.hidden_size));
  TANGRAM_RETURN_IF_ERROR(read("heads", dimensions.num_heads));
  TANGRAM_RETURN_IF_ERROR(read("vocab", dimensions.vocab_size));
  TANGRAM_RETURN_IF_ERROR(read("seq", dimensions.sequence_length));
  if (dimensions.hidden_size % dimensions.num_heads != 0) {
    return field.Find("heads")->Error("a divisor of hidden");
  }
  dimensions.ffn_hidden_size = 4 * dimensions.hidden_size;
  return dimensions;
}

absl::Status ReadTimes(const ConfigField& by_samples, SailorProfile& sailor) {
  TANGRAM_ASSIGN_OR_RETURN(const auto samples, NumberedMembers(by_samples));
  for (const auto& [num_samples, by_tp] : samples) {
    TANGRAM_ASSIGN_OR_RETURN(const auto degrees, NumberedMembers(by_tp));
    for (const auto& [tp, layers] : degrees) {
      TANGRAM_ASSIGN_OR_RETURN(sailor.seconds[std::make_pair(tp, num_samples)],
                               ReadSeconds(layers));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadMemory(const ConfigField& by_tp, SailorProfile& sailor) {
  TANGRAM_ASSIGN_OR_RETURN(const auto degrees, NumberedMembers(by_tp));
  for (const auto& [tp, layers] : degrees) {
    TANGRAM_ASSIGN_OR_RETURN(sailor.floats[tp], ReadFloats(layers));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSailorFile(const ImportedFile& file,
                            const ImportOptions& options,
                            SailorProfile& sailor) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file.text, file.name));
  const ConfigField root(value, file.name);
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  if (const auto profiles = root.Find("profiles")) {
    const auto text = [](const ConfigField& field) { return field.AsText(); };
    TANGRAM_ASSIGN_OR_RETURN(
        sailor.model_name, ReadOr(root, "model", std::string("sailor"), text));
    TANGRAM_ASSIGN_OR_RETURN(sailor.gpu,
                             ReadOr(root, "gpu", std::string(), text));
    if (const auto geometry = root.Find("geometry")) {
      TANGRAM_ASSIGN_OR_RETURN(sailor.dimensions,
                               ReadGeometry(*geometry, sailor.model_name));
    }
    TANGRAM_RETURN_IF_ERROR(ReadTimes(*profiles, sailor));
    const auto memory = root.Find("memory");
    return memory.has_value() ? ReadMemory(*memory, sailor) : absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(const auto numbered, NumberedMembers(root));
  if (!numbered.empty()) return ReadTimes(root, sailor);
  const std::string name =
      options.model.has_value() ? options.model->name : sailor.model_name;
  const std::optional<ConfigField> of_model = root.Find(name);
  if (!of_model.has_value()) {
    return root.Error(
        absl::StrCat("times by number of samples, or memory by "
                     "model with an entry \"",
                     name, "\""));
  }
  return ReadMemory(*of_model, sailor);
}

}  // namespace tangram
