#include "common/wire/parallelizer_wire.h"
#include "common/wire/worker_pool_wire.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes messages of a coordinator to workers.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  v1::CoordinatorMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  PairContext context;
  for (const v1::PairContext& encoded : message.contexts()) {
    const auto decoded = FromProto(encoded);
    fuzz::CheckBlame(decoded.status());
    if (decoded.ok()) context = *decoded;
  }
  for (const v1::Lease& lease : message.leases()) {
    const auto query = DecodeQuery(lease);
    fuzz::CheckBlame(query.status());
    if (query.ok()) fuzz::CheckBlame(CheckIndices(context, *query));
  }
  return 0;
}
