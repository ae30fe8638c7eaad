#include <string>

#include "formats/import_profile/import_profile.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes profiles of other tools. The first byte chooses the format. The first
// line is the name of the file, which some formats read too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  if (size == 0) return 0;
  const auto formats = ProfileFormats();
  const absl::string_view format = formats[data[0] % formats.size()].name;
  const absl::string_view text = fuzz::Text(data + 1, size - 1);
  const size_t end = text.find('\n');
  if (end == absl::string_view::npos) return 0;
  const ImportedFile file{.name = std::string(text.substr(0, end)),
                          .text = std::string(text.substr(end + 1))};
  fuzz::CheckBlame(ImportProfile(format, {file}, {.device = "T4"}).status());
  return 0;
}
