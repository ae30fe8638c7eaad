#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes messages that workers, or adapter programs through them, send to a
// coordinator.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  v1::WorkerMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const v1::Adapter& adapter : message.hello().adapters()) {
    fuzz::CheckBlame(FromProto(adapter).status());
  }
  for (const v1::Answer& encoded : message.answers()) {
    // Any error is fine.
    const auto answer = DecodeAnswer(encoded);
    if (!answer.ok()) continue;
    v1::Answer again;
    EncodeAnswer(answer, again);
    TANGRAM_CHECK(DecodeAnswer(again).ok());
  }
  return 0;
}
