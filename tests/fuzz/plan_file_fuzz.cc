#include "common/wire/plan_file.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes plan files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  const auto file = PlanFileFromJson(fuzz::Text(data, size), "p.json");
  fuzz::CheckBlame(file.status());
  if (!file.ok()) return 0;
  const auto text = PlanFileToJson(*file);
  TANGRAM_CHECK(text.ok());
  const auto again = PlanFileFromJson(*text, "again.json");
  TANGRAM_CHECK(again.ok() && *PlanFileToJson(*again) == *text);
  return 0;
}
