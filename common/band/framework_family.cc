#include "common/band/framework_family.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tangram {

absl::string_view FrameworkFamily(absl::string_view framework) {
  // The first match counts.
  constexpr struct {
    absl::string_view name;  // Part of the framework column, ignoring case.
    absl::string_view family;
  } kFamilies[] = {{"Bridge", "Bridge"},
                   {"NeMo", "Bridge"},
                   {"Megatron-Core", "Megatron-Core"},
                   {"Megatron-LM core", "Megatron-Core"},
                   {"MCore", "Megatron-Core"},
                   {"InternEvo", "Megatron-Core"},
                   {"FSDP", "FSDP"},
                   {"torchtitan", "FSDP"},
                   {"Sailor", "Sailor"},
                   {"Megatron-DeepSpeed", "Megatron-DeepSpeed"},
                   {"Megatron+DeepSpeed", "Megatron-DeepSpeed"},
                   {"DeepSpeed", "DeepSpeed"},
                   {"Aceso", "Aceso"},
                   {"Megatron", "Megatron-LM"},
                   {"Alpa", "Alpa"},
                   {"Mist", "Mist"}};
  const std::string name = absl::AsciiStrToLower(framework);
  for (const auto& known : kFamilies) {
    if (absl::StrContains(name, absl::AsciiStrToLower(known.name))) {
      return known.family;
    }
  }
  return "";
}

}  // namespace tangram
