#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/rpc/job_wire.h"
#include "tangram/v1/job_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

// Fuzzes requests of clients. The first byte chooses the message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  if (size == 0) return 0;
  const int bytes = static_cast<int>(size - 1);
  if (data[0] % 2 == 0) {
    v1::SubmitJobRequest submit;
    if (submit.ParseFromArray(data + 1, bytes)) {
      fuzz::CheckBlame(FromProto(submit).status());
      fuzz::CheckBlame(FromProto(submit.request()).status());
    }
  } else {
    v1::ListJobsRequest list;
    if (list.ParseFromArray(data + 1, bytes)) {
      fuzz::CheckBlame(FromProto(list).status());
    }
  }
  return 0;
}
