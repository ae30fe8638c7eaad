#include "coordinator/planners/rivals/sailor/sailor_input.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram::sailor {
namespace {

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

absl::Status CheckPlaces(const Input& input) {
  if (input.types.empty()) return FieldError("types", "none", "a GPU type");
  if (input.zones.empty()) return FieldError("zones", "none", "a zone");
  int64_t gpus = 0;
  for (size_t i = 0; i < input.zones.size(); ++i) {
    const Zone& zone = input.zones[i];
    if (zone.gpus.size() != input.types.size()) {
      return FieldError(absl::StrCat("zones[", i, "].gpus"), zone.gpus.size(),
                        "one count for each type");
    }
    for (const int count : zone.gpus) {
      if (count < 0) {
        return FieldError(absl::StrCat("zones[", i, "].gpus"), count,
                          "0 or more");
      }
      gpus += count;
    }
  }
  if (gpus == 0) return FieldError("zones", "no GPU", "one");
  if (gpus > 1'000'000) {
    return FieldError("zones", gpus, "at most 1000000 GPUs");
  }
  return absl::OkStatus();
}

absl::Status CheckLayers(const Input& input) {
  const size_t layers = input.gradient_bytes.size();
  if (layers == 0) return FieldError("gradient_bytes", "none", "a layer");
  if (input.boundary_bytes.size() != layers) {
    return FieldError("boundary_bytes", input.boundary_bytes.size(),
                      absl::StrCat(layers, " layers"));
  }
  for (const auto& [key, profile] : input.profiles) {
    const auto name = [&key = key] {
      return absl::StrCat("profiles[type ", key.type, ", tp ", key.tp, ", ",
                          key.samples, " samples]");
    };
    if (key.type < 0 || key.type >= static_cast<int>(input.types.size()) ||
        key.tp < 1 || key.samples < 1) {
      return FieldError("profiles", name(),
                        "a type of the list, and degrees and samples from 1");
    }
    if (profile.layers.size() != layers) {
      return FieldError(name() + ".layers", profile.layers.size(),
                        absl::StrCat(layers));
    }
    for (const LayerFigures& layer : profile.layers) {
      for (const double value :
           {layer.pass_s, layer.update_s, layer.state_bytes,
            layer.activation_bytes, layer.transient_bytes}) {
        if (!IsAmount(value)) {
          return FieldError(name(), value, "a number from 0");
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPaths(const Input& input) {
  const auto is_known = [&](const Endpoint& end) {
    return end.zone >= 0 && end.zone < static_cast<int>(input.zones.size()) &&
           end.type >= 0 && end.type < static_cast<int>(input.types.size()) &&
           end.gpus >= 1;
  };
  for (const auto& [ends, path] : input.paths) {
    if (!is_known(ends.first) || !is_known(ends.second)) {
      return FieldError(
          "paths",
          absl::StrCat("zone ", ends.first.zone, ", type ", ends.first.type,
                       " to zone ", ends.second.zone, ", type ",
                       ends.second.type),
          "zones and types of the lists, and 1 or more GPUs");
    }
    if (!IsAmount(path.most_bytes_per_s) || path.most_bytes_per_s == 0) {
      return FieldError("paths.most_bytes_per_s", path.most_bytes_per_s,
                        "a positive number");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPrices(const Input& input) {
  const size_t zones = input.zones.size();
  if (input.dollars_per_gb.empty()) return absl::OkStatus();
  if (input.dollars_per_gb.size() != zones) {
    return FieldError("dollars_per_gb", input.dollars_per_gb.size(),
                      absl::StrCat(zones, " zones"));
  }
  for (const auto& row : input.dollars_per_gb) {
    if (row.size() != zones) {
      return FieldError("dollars_per_gb", row.size(),
                        absl::StrCat(zones, " zones"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Rules UpstreamRules() {
  return {.tests_regions = true,
          .shares_states_by_counts = true,
          .first_type_has_least_tp = true,
          .trusts_tp_memory = true,
          .unbounded_paths = true,
          .skips_equal_mixes = true,
          .tries_all_counts = true,
          .tries_slow_plans = true,
          .sends_first_boundary = true,
          .forgets_update = true,
          .reduces_in_first_zone = true,
          .cheapest_has_one_stage = true};
}

absl::Status CheckInput(const Input& input) {
  if (input.global_batch < 1) {
    return FieldError("global_batch", input.global_batch, "at least 1");
  }
  TANGRAM_RETURN_IF_ERROR(CheckPlaces(input));
  TANGRAM_RETURN_IF_ERROR(CheckLayers(input));
  TANGRAM_RETURN_IF_ERROR(CheckPaths(input));
  return CheckPrices(input);
}

absl::Status CheckSettings(const Settings& settings) {
  if (!IsAmount(settings.most_dollars)) {
    return FieldError("most_dollars", settings.most_dollars, "a number from 0");
  }
  if (!IsAmount(settings.longest_s)) {
    return FieldError("longest_s", settings.longest_s, "a number from 0");
  }
  if (settings.most_replicas < 0) {
    return FieldError("most_replicas", settings.most_replicas, "0 or more");
  }
  if (settings.most_stages < 0) {
    return FieldError("most_stages", settings.most_stages, "0 or more");
  }
  if (settings.most_steps < 0) {
    return FieldError("most_steps", settings.most_steps, "0 or more");
  }
  return absl::OkStatus();
}

}  // namespace tangram::sailor
