#include "formats/config/training_names.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "common/base/field_error.h"

namespace tangram {

namespace {

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kFp16,
                                     Precision::kBf16, Precision::kFp8};
constexpr Optimizer kOptimizers[] = {Optimizer::kAdam, Optimizer::kSgd};

}  // namespace

std::vector<std::string> PrecisionNames() {
  std::vector<std::string> names;
  for (const Precision precision : kPrecisions) {
    names.emplace_back(PrecisionName(precision));
  }
  return names;
}

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const Optimizer optimizer : kOptimizers) {
    names.emplace_back(OptimizerName(optimizer));
  }
  return names;
}

absl::StatusOr<Precision> ParsePrecision(absl::string_view text) {
  for (const Precision precision : kPrecisions) {
    if (absl::EqualsIgnoreCase(text, PrecisionName(precision))) {
      return precision;
    }
  }
  return FieldError("precision", absl::Utf8SafeCEscape(text),
                    "fp32, fp16, bf16 or fp8");
}

absl::StatusOr<Optimizer> ParseOptimizer(absl::string_view text) {
  if (absl::EqualsIgnoreCase(text, "adam") ||
      absl::EqualsIgnoreCase(text, "adamw")) {
    return Optimizer::kAdam;
  }
  if (absl::EqualsIgnoreCase(text, "sgd")) return Optimizer::kSgd;
  return FieldError("optimizer", absl::Utf8SafeCEscape(text), "adam or sgd");
}

absl::string_view OptimizerName(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdam:
      return "adam";
    case Optimizer::kSgd:
      return "sgd";
  }
  return "";
}

}  // namespace tangram
