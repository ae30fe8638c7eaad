#ifndef TANGRAM_CLI_ARGS_JOB_OPTIONS_H_
#define TANGRAM_CLI_ARGS_JOB_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "common/security/channel.h"

// Options of commands about jobs and tenants of a coordinator.
namespace tangram {

struct DeleteJobOptions {
  CoordinatorAccess coordinator;
  std::vector<std::string> job_ids;
  bool allow_missing = false;  // It is no error if one does not exist.
};
struct RetryJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
  double deadline_s = 0;  // From now on; 0: none.
};
struct UpdateJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
  std::optional<int> priority;
  std::vector<std::string> labels;  // "NAME=VALUE", instead of all there are.
  bool clear_labels = false;
  std::optional<double> deadline_s;  // From now on; 0: none.
  std::optional<double> keep_days;   // 0: as long as others.
};
struct WaitJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
  double timeout_s = 0;  // 0: none.
};

struct TenantUsageOptions {
  CoordinatorAccess coordinator;
  std::string tenant;  // Empty: that of the token.
};
struct ExportTenantOptions {
  CoordinatorAccess coordinator;
  std::string tenant;
  std::string output_file = "-";  // Gets a line of JSON for each job.
};
struct EraseTenantOptions {
  CoordinatorAccess coordinator;
  std::string tenant;
  bool yes = false;  // Required, because nothing brings the jobs back.
};

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_JOB_OPTIONS_H_
