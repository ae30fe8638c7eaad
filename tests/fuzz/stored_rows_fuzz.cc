#include <string>

#include "common/wire/plan_file.h"
#include "common/wire/worker_pool_wire.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/store/stored_answer.h"
#include "tangram/v1/job_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

namespace tangram {
namespace {

// A stored plan is read in full, or the job fails and says so.
void ReadJob(const std::string& result) {
  const v1::Job message = ToProto(
      Job{.id = "nightly", .state = JobState::kSucceeded, .result = result},
      Caller{});
  if (!message.has_result()) {
    TANGRAM_CHECK(result.empty() || message.state() == v1::Job::FAILED);
    return;
  }
  fuzz::CheckBlame(FromProto(message.result()).status());
}

// A row of answers whose checksum is right is read, or dropped with a reason.
void ReadAnswer(const std::string& bytes) {
  StoredAnswer row{.answer = bytes};
  const Question question;
  row.key = std::string(question.key.view());
  row.checksum = ChecksumOf("1", row);
  const auto answer = Unseal("1", question, row);
  if (!answer.ok()) {
    TANGRAM_CHECK(answer.status().message() == kUndecodable);
    return;
  }
  const std::string encoded = SerializeAnswer(*answer);
  const auto again = ParseAnswer(encoded);
  TANGRAM_CHECK(again.ok() && SerializeAnswer(*again) == encoded);
}

}  // namespace
}  // namespace tangram

// Fuzzes what the databases of a coordinator keep. The first byte chooses the
// table.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tangram;
  if (size == 0) return 0;
  const std::string bytes(fuzz::Text(data + 1, size - 1));
  if (data[0] % 2 == 0) {
    ReadJob(bytes);
  } else {
    ReadAnswer(bytes);
  }
  return 0;
}
