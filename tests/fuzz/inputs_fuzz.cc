#include "common/wire/cluster_wire.h"
#include "common/wire/model_wire.h"
#include "common/wire/training_wire.h"
#include "tangram/v1/planner_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes clusters, models and training options in messages.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  v1::PlanRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto decode = [](const auto& message) { return FromProto(message); };
  const auto encode = [](const auto& value) { return ToProto(value); };
  fuzz::CheckRoundTrip(request.cluster(), decode, encode);
  fuzz::CheckRoundTrip(request.model(), decode, encode);
  fuzz::CheckRoundTrip(request.training(), decode, encode);
  return 0;
}
