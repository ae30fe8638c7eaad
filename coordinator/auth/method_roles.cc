#include "coordinator/auth/method_roles.h"

#include <array>

namespace tangram {
namespace {

struct Entry {
  absl::string_view path;
  MethodAccess access;
};

// Every method that the coordinator serves. Others are refused.
const auto& Table() {
  const Roles plan = Roles() | Role::kPlan;
  const Roles plan_or_operate = plan | Role::kOperate;
  static const std::array table = {
      Entry{"/tangram.v1.Planner/Plan", {.any_of = plan}},
      Entry{"/tangram.v1.Jobs/SubmitJob", {.any_of = plan}},
      Entry{"/tangram.v1.Jobs/GetJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/WatchJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/ListJobs", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/CancelJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/GetJobTrace", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/WaitJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/UpdateJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/RetryJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Jobs/DeleteJob", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Tenants/GetTenantUsage", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Tenants/ExportTenant", {.any_of = plan_or_operate}},
      Entry{"/tangram.v1.Tenants/EraseTenant",
            {.any_of = Roles() | Role::kOperate}},
      // Operators only: the names and the work of workers belong to no tenant.
      Entry{"/tangram.v1.Status/GetStatus",
            {.any_of = Roles() | Role::kOperate}},
      Entry{"/tangram.v1.Workers/ListWorkers",
            {.any_of = Roles() | Role::kOperate}},
      Entry{"/tangram.v1.Workers/ReleaseWorker",
            {.any_of = Roles() | Role::kOperate}},
      Entry{"/tangram.v1.WorkerPool/Work", {.any_of = Roles() | Role::kWork}},
      // Public, because probes have no tokens and health is no secret.
      Entry{"/grpc.health.v1.Health/Check", {.is_public = true}},
      Entry{"/grpc.health.v1.Health/Watch", {.is_public = true}},
      Entry{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            {}},
  };
  return table;
}

}  // namespace

const MethodAccess* FindMethodAccess(absl::string_view path) {
  for (const Entry& entry : Table()) {
    if (entry.path == path) return &entry.access;
  }
  return nullptr;
}

}  // namespace tangram
