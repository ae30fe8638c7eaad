#include "coordinator/rpc/job_names.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/field_error.h"
#include "coordinator/store/job_store.h"

namespace tangram {

absl::StatusOr<std::string> JobIdOf(const std::string& name,
                                    const Caller& caller) {
  if (name.empty()) return FieldError("job_id", "\"\"", "the name of a job");
  if (name.find('/') == std::string::npos) return JobId(caller.tenant, name);
  if (caller.roles.Has(Role::kOperate)) return name;
  return absl::NotFoundError(absl::StrCat("job_id: \"", name, "\" is unknown"));
}

std::string JobNameFor(const std::string& job_id, const Caller& caller) {
  if (caller.tenant.empty() || TenantOf(job_id) != caller.tenant) return job_id;
  return job_id.substr(caller.tenant.size() + 1);
}

absl::Status WithJobName(const absl::Status& status, const std::string& job_id,
                         const Caller& caller) {
  const std::string name = JobNameFor(job_id, caller);
  if (status.ok() || name == job_id) return status;
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(),
                                          {{absl::StrCat("\"", job_id, "\""),
                                            absl::StrCat("\"", name, "\"")}}));
}

}  // namespace tangram
