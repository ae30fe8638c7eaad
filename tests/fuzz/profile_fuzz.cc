#include "formats/config/profile_file.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes profile files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  fuzz::CheckBlame(ParseProfile(fuzz::Text(data, size), "p.json").status());
  return 0;
}
