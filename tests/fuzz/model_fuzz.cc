#include "formats/config/model_file.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes model files and Hugging Face's configurations.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  fuzz::CheckBlame(ParseModel(fuzz::Text(data, size), "m.json").status());
  return 0;
}
