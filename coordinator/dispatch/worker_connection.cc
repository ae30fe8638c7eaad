#include "coordinator/dispatch/worker_connection.h"

#include "absl/algorithm/container.h"

namespace tangram {

bool WorkerInfo::Offers(absl::string_view adapter) const {
  return absl::c_any_of(adapters, [&](const AdapterInfo& info) {
    return info.id.name == adapter;
  });
}

const char* NameOf(RejectionReason reason) {
  switch (reason) {
    case RejectionReason::kNone:
      return "";
    case RejectionReason::kDigest:
      return "digest";
    case RejectionReason::kMessage:
      return "message";
    case RejectionReason::kLaw:
      return "law";
    case RejectionReason::kError:
      return "error";
  }
  return "unknown";
}

bool IsVerdict(const absl::Status& error) {
  return absl::IsInvalidArgument(error) || absl::IsUnimplemented(error);
}

}  // namespace tangram
