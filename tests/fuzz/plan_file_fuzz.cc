#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "common/wire/plan_file.h"
#include "tests/fuzz/fuzz_checks.h"

namespace tangram {
namespace {

// Checks that a plan can be judged, whatever stands in it.
void Judge(const PlanFile& file) {
  const PlanResult& result = file.result;
  if (result.plan) {
    fuzz::CheckBlame(
        ValidatePlan(file.model, file.cluster, file.training, *result.plan));
  }
  if (result.replicated_plan) {
    fuzz::CheckBlame(ValidateReplicatedPlan(
        file.model, file.cluster, file.training, *result.replicated_plan));
  }
}

}  // namespace
}  // namespace tangram

// Fuzzes plan files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  const auto file = PlanFileFromJson(fuzz::Text(data, size), "p.json");
  fuzz::CheckBlame(file.status());
  if (!file.ok()) return 0;
  Judge(*file);
  const auto text = PlanFileToJson(*file);
  TANGRAM_CHECK(text.ok());
  const auto again = PlanFileFromJson(*text, "again.json");
  TANGRAM_CHECK(again.ok() && *PlanFileToJson(*again) == *text);
  return 0;
}
