#include <string>
#include <vector>

#include "common/base/check.h"
#include "formats/config/cluster_file.h"
#include "formats/config/model_file.h"
#include "frameworks/import_plan.h"
#include "tests/fuzz/fuzz_checks.h"

namespace {

constexpr char kCluster[] =
    "name: c\ngroups:\n  - {name: t4, gpu: T4, nodes: 2, gpus_per_node: 4}\n";

}  // namespace

// Fuzzes configurations of frameworks. The first byte chooses the format; a
// host file follows after a zero byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  static const Cluster cluster = *ParseCluster(kCluster, "c.yaml");
  static const ModelSpec model = *LoadModel("gpt3-1.3b", {.num_layers = 4});
  if (size == 0) return 0;
  const auto formats = PlanFormats();
  const absl::string_view format = formats[data[0] % formats.size()].name;
  const absl::string_view text = fuzz::Text(data + 1, size - 1);
  const size_t end = text.find('\0');
  std::vector<FrameworkFile> files = {
      {.name = "config", .content = std::string(text.substr(0, end))}};
  if (end != absl::string_view::npos) {
    files.push_back(
        {.name = "hostfile", .content = std::string(text.substr(end + 1))});
  }
  const auto imported =
      ImportPlan(format, {.files = files, .cluster = cluster, .model = model});
  fuzz::CheckBlame(imported.status());
  if (!imported.ok()) return 0;
  TANGRAM_CHECK(
      ValidatePlan(model, cluster, imported->training, imported->plan).ok());
  return 0;
}
