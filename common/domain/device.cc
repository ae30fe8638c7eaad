#include "common/domain/device.h"

namespace tangram {

absl::string_view PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp8:
      return "fp8";
  }
  return "";
}

std::optional<Precision> PrecisionOfDtype(absl::string_view dtype) {
  if (dtype == "float32") return Precision::kFp32;
  if (dtype == "float16") return Precision::kFp16;
  if (dtype == "bfloat16") return Precision::kBf16;
  return std::nullopt;
}

absl::string_view CollectiveLibraryName(CollectiveLibrary library) {
  switch (library) {
    case CollectiveLibrary::kNccl:
      return "nccl";
    case CollectiveLibrary::kRccl:
      return "rccl";
    case CollectiveLibrary::kHccl:
      return "hccl";
    case CollectiveLibrary::kOneCcl:
      return "oneccl";
  }
  return "";
}

double PeakFlops::At(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32;
    case Precision::kFp16:
      return fp16;
    case Precision::kBf16:
      return bf16;
    case Precision::kFp8:
      return fp8;
  }
  return 0;
}

}  // namespace tangram
