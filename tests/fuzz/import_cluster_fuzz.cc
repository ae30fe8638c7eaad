#include <string>

#include "formats/import_cluster/import_cluster.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes the outputs of schedulers, drivers and nccl-tests, alone and together.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  const ClusterSource sources[] = {
      {.name = "nodes", .text = "NodeName=t1 Gres=gpu:t4:4 State=IDLE\n"},
      {.name = "input",
       .scope = "t1",
       .text = std::string(fuzz::Text(data, size))}};
  fuzz::CheckBlame(ImportCluster(sources, {}).status());
  return 0;
}
