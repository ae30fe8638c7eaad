#include "formats/config/cluster_file.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes cluster files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  fuzz::CheckBlame(ParseCluster(fuzz::Text(data, size), "c.yaml").status());
  return 0;
}
