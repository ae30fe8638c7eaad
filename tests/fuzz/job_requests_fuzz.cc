#include <string>

#include "coordinator/planning/plan_request_wire.h"
#include "coordinator/rest/transcode.h"
#include "coordinator/rpc/job_filter.h"
#include "coordinator/rpc/job_masks.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/page_token.h"
#include "tangram/v1/job_service.pb.h"
#include "tests/fuzz/fuzz_checks.h"

namespace tangram {
namespace {

void CheckSubmission(const uint8_t* data, int bytes) {
  v1::SubmitJobRequest submit;
  if (!submit.ParseFromArray(data, bytes)) return;
  fuzz::CheckBlame(FromProto(submit, /*now_s=*/1e9,
                             {.is_on = true, .allows_plain_http = true})
                       .status());
  fuzz::CheckBlame(FromProto(submit.request()).status());
}

void CheckList(const uint8_t* data, int bytes) {
  v1::ListJobsRequest list;
  if (!list.ParseFromArray(data, bytes)) return;
  fuzz::CheckBlame(FromProto(list).status());
  fuzz::CheckBlame(ParsePageToken(list.page_token(), "").status());
  fuzz::CheckBlame(CheckReadMask(list.read_mask()));
  const auto predicate = ParseJobFilter(list.filter());
  fuzz::CheckBlame(predicate.status());
  if (predicate.ok()) {
    (*predicate)(Job{.id = "a", .labels = {{"run", "7"}}}, "a");
  }
}

void CheckUpdate(const uint8_t* data, int bytes) {
  v1::UpdateJobRequest update;
  if (update.ParseFromArray(data, bytes)) {
    fuzz::CheckBlame(ChangesOf(update).status());
  }
}

void CheckRest(const uint8_t* data, int bytes) {
  static const std::vector<HttpRule> rules = *ParseHttpRules(HttpRulesText());
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  const HttpMatch match = FindHttpRule(rules, "POST", "/v1/jobs");
  fuzz::CheckBlame(RequestOf(match, {.body = text}).status());
  FindHttpRule(rules, "GET", text);
}

}  // namespace
}  // namespace tangram

// Fuzzes requests of clients. The first byte chooses the message.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const int bytes = static_cast<int>(size - 1);
  switch (data[0] % 4) {
    case 0:
      tangram::CheckSubmission(data + 1, bytes);
      break;
    case 1:
      tangram::CheckList(data + 1, bytes);
      break;
    case 2:
      tangram::CheckUpdate(data + 1, bytes);
      break;
    default:
      tangram::CheckRest(data + 1, bytes);
  }
  return 0;
}
