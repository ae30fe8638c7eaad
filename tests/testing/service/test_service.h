#ifndef TANGRAM_TESTS_TESTING_SERVICE_TEST_SERVICE_H_
#define TANGRAM_TESTS_TESTING_SERVICE_TEST_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/metrics/metrics.h"
#include "common/planner/cluster_planner.h"
#include "common/wire/plan_file.h"
#include "coordinator/coordinator_server.h"
#include "coordinator/planners/tangram/tangram_planner.h"
#include "tangram/v1/planner_service.pb.h"
#include "worker/service/worker.h"

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace tangram::testing {

// A real coordinator in this process on a free port, and workers that dial it.
class TestService {
 public:
  explicit TestService(CoordinatorOptions options = {});

  // Returns once the worker has joined.
  Worker& AddWorker(std::unique_ptr<Parallelizer> parallelizer,
                    int num_threads = 1);
  Worker& AddWorker(const std::string& parallelizer, int num_threads = 1);
  // Sets coordinators and name if `options` has none.
  Worker& AddWorker(WorkerOptions options);

  std::string address() const;
  CoordinatorServer& server() { return *server_; }
  Metrics& metrics() { return metrics_; }

 private:
  Metrics metrics_;
  std::vector<std::unique_ptr<Metrics>> worker_metrics_;
  std::unique_ptr<CoordinatorServer> server_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// Returns a request with two unequal groups of GPUs and a small model, which is
// planned quickly.
PlanRequest SmallRequest();

// Returns the version of a built-in parallelizer.
std::string VersionOf(const std::string& parallelizer);

v1::PlanRequest Encode(const PlanRequest& request,
                       const std::string& parallelizer);

// Makes a call and reads it to its end. `on_progress` may cancel the context.
absl::StatusOr<PlanFile> CallPlan(
    const std::string& address, const v1::PlanRequest& request,
    grpc::ClientContext& context,
    const std::function<void(const v1::PlanProgress&)>& on_progress = nullptr);
absl::StatusOr<PlanFile> CallPlan(const std::string& address,
                                  const v1::PlanRequest& request);

// Returns the plan file as text, without the parts that differ between runs.
std::string Essence(PlanFile file);

// Returns the Essence of planning in this process with one thread.
std::string LocalEssence(const PlanRequest& request,
                         const std::string& parallelizer,
                         const TangramOptions& options = {});

// Waits until `condition` holds. Returns false after 30 s.
bool Eventually(const std::function<bool()>& condition);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_SERVICE_TEST_SERVICE_H_
