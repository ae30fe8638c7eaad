#include "formats/config/profile_file.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/config_field.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/document.h"
#include "formats/config/model_fields.h"
#include "formats/config/profile_entry.h"
#include "formats/config/text_file.h"
#include "formats/config/training_names.h"

namespace tangram {
namespace {

// Version 1 is the only one so far.
// Any later version is to be read as a number and named in the error.
constexpr int kMaxProfileVersion = 1 << 30;
constexpr int kFormatVersion = 1;
// A product of all tokens of the largest batch fits.
constexpr int kMaxMatrixSize = 1 << 30;
// Eleven days and a terabyte: they catch wrong units.
constexpr double kMaxSeconds = 1e6;
constexpr double kMaxContextBytes = 1e12;

std::string ExpectedVersion() {
  return absl::StrCat(kFormatVersion, ", the version of the profile format");
}

absl::Status CheckProfileVersion(const ConfigField& root) {
  const std::optional<ConfigField> version = root.Find("tangram_profile");
  if (!version.has_value()) {
    return root.MissingError("tangram_profile", ExpectedVersion());
  }
  if (version->AsInt(0, kMaxProfileVersion).value_or(0) == kFormatVersion) {
    return absl::OkStatus();
  }
  return version->Error(ExpectedVersion());
}

// Calls `read` for each element of an optional list.
template <typename Read>
absl::Status ForEach(const ConfigField& root, absl::string_view key,
                     Read read) {
  const std::optional<ConfigField> list = root.Find(key);
  if (!list.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           list->Elements());
  for (const ConfigField& element : elements) {
    TANGRAM_RETURN_IF_ERROR(read(element));
  }
  return absl::OkStatus();
}

absl::Status AddModel(const ConfigField& field, Profile& profile) {
  TANGRAM_RETURN_IF_ERROR(field.CheckMapping());
  TANGRAM_RETURN_IF_ERROR(
      field.Require("name", "a name no other model has").status());
  TANGRAM_ASSIGN_OR_RETURN(ModelSpec model, ReadModelFields(field, ""));
  for (const ModelSpec& other : profile.models) {
    if (other.name == model.name) {
      return field.Find("name")->Error("a name no other model has");
    }
  }
  profile.models.push_back(std::move(model));
  return absl::OkStatus();
}

absl::StatusOr<ProfiledGemm> ReadGemm(const ConfigField& field) {
  TANGRAM_RETURN_IF_ERROR(
      field.CheckKeys({"m", "k", "n", "precision", "seconds"}));
  ProfiledGemm gemm;
  const auto read_size = [&field](absl::string_view key,
                                  int& size) -> absl::Status {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField given,
                             field.Require(key, "a positive integer"));
    TANGRAM_ASSIGN_OR_RETURN(size, given.AsInt(1, kMaxMatrixSize));
    return absl::OkStatus();
  };
  TANGRAM_RETURN_IF_ERROR(read_size("m", gemm.m));
  TANGRAM_RETURN_IF_ERROR(read_size("k", gemm.k));
  TANGRAM_RETURN_IF_ERROR(read_size("n", gemm.n));
  constexpr absl::string_view kPrecisions = "fp32, fp16, bf16 or fp8";
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField precision,
                           field.Require("precision", kPrecisions));
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, precision.AsText());
  const absl::StatusOr<Precision> known = ParsePrecision(name);
  if (!known.ok()) return precision.Error(kPrecisions);
  gemm.precision = *known;
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField seconds,
      field.Require("seconds", "a positive number of seconds"));
  TANGRAM_ASSIGN_OR_RETURN(gemm.seconds, seconds.AsNumber(1e-12, kMaxSeconds));
  return gemm;
}

absl::Status AddCollective(const ConfigField& field,
                           absl::StatusOr<MeasuredCollective> table,
                           Profile& profile) {
  if (!table.ok()) return table.status();
  if (FindCollective(profile.collectives, table->op, table->ranks,
                     table->nodes) != nullptr) {
    return field.Error("an operation, ranks and nodes no other table has");
  }
  profile.collectives.push_back(*std::move(table));
  return absl::OkStatus();
}

absl::Status AddLink(const ConfigField& field, Profile& profile) {
  TANGRAM_ASSIGN_OR_RETURN(ProfileLink link, ReadProfiledLink(field));
  for (const ProfileLink& other : profile.links) {
    if (other.to == link.to) {
      return field.Error("a GPU type no other link is to");
    }
  }
  profile.links.push_back(std::move(link));
  return absl::OkStatus();
}

absl::Status ReadMeasurements(const ConfigField& root, Profile& profile) {
  const auto add_entry = [&profile](absl::StatusOr<ProfileEntry> entry) {
    if (entry.ok()) profile.entries.push_back(*std::move(entry));
    return entry.status();
  };
  TANGRAM_RETURN_IF_ERROR(
      ForEach(root, "layers", [&](const ConfigField& field) {
        return add_entry(ReadProfiledLayer(field, profile));
      }));
  TANGRAM_RETURN_IF_ERROR(
      ForEach(root, "operators", [&](const ConfigField& field) {
        return add_entry(ReadProfiledOperator(field, profile));
      }));
  TANGRAM_RETURN_IF_ERROR(
      ForEach(root, "gemms", [&](const ConfigField& field) -> absl::Status {
        TANGRAM_ASSIGN_OR_RETURN(profile.gemms.emplace_back(), ReadGemm(field));
        return absl::OkStatus();
      }));
  TANGRAM_RETURN_IF_ERROR(
      ForEach(root, "collectives", [&](const ConfigField& field) {
        return AddCollective(field, ReadProfiledCollective(field), profile);
      }));
  TANGRAM_RETURN_IF_ERROR(ForEach(root, "p2p", [&](const ConfigField& field) {
    return AddCollective(field, ReadProfiledTransfer(field), profile);
  }));
  return ForEach(root, "links", [&](const ConfigField& field) {
    return AddLink(field, profile);
  });
}

absl::Status ReadMemory(const ConfigField& root, Profile& profile) {
  const std::optional<ConfigField> memory = root.Find("memory");
  if (!memory.has_value()) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(memory->CheckKeys({"context_bytes"}));
  const std::optional<ConfigField> context = memory->Find("context_bytes");
  if (!context.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(profile.context_bytes,
                           context->AsNumber(0, kMaxContextBytes));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Profile> ParseProfile(absl::string_view text,
                                     absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, source_name));
  const ConfigField root(value, std::string(source_name));
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  TANGRAM_RETURN_IF_ERROR(CheckProfileVersion(root));
  TANGRAM_RETURN_IF_ERROR(root.CheckKeys(
      {"tangram_profile", "device", "source", "framework", "models", "layers",
       "operators", "gemms", "collectives", "p2p", "links", "memory"}));
  Profile profile;
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField device,
                           root.Require("device", "a GPU type such as T4"));
  TANGRAM_ASSIGN_OR_RETURN(profile.device, device.AsText());
  if (const CatalogueDevice* known = FindDevice(profile.device)) {
    profile.device = known->device.type;
  }
  const auto text_of = [](const ConfigField& field) { return field.AsNote(); };
  TANGRAM_ASSIGN_OR_RETURN(profile.source,
                           ReadOr(root, "source", std::string(), text_of));
  TANGRAM_ASSIGN_OR_RETURN(profile.framework,
                           ReadOr(root, "framework", std::string(), text_of));
  TANGRAM_RETURN_IF_ERROR(
      ForEach(root, "models", [&profile](const ConfigField& field) {
        return AddModel(field, profile);
      }));
  TANGRAM_RETURN_IF_ERROR(ReadMeasurements(root, profile));
  TANGRAM_RETURN_IF_ERROR(ReadMemory(root, profile));
  return profile;
}

absl::StatusOr<Profile> ReadProfileFile(const std::string& path) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  return ParseProfile(text, path);
}

}  // namespace tangram
