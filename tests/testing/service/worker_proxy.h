#ifndef TANGRAM_TESTS_TESTING_SERVICE_WORKER_PROXY_H_
#define TANGRAM_TESTS_TESTING_SERVICE_WORKER_PROXY_H_

#include <functional>
#include <memory>
#include <string>

#include "tangram/v1/worker_pool_service.pb.h"

namespace tangram::testing {

// Stands between workers and a coordinator and forwards tokens and messages.
// `tamper`
// may change the answers of workers. It is called from the threads of the
// streams.
class WorkerProxy {
 public:
  using Tamper = std::function<void(v1::Answer&)>;

  static std::unique_ptr<WorkerProxy> Start(const std::string& coordinator,
                                            Tamper tamper);
  virtual ~WorkerProxy() = default;  // Ends all streams.

  virtual std::string address() const = 0;  // Address for workers to dial.
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_SERVICE_WORKER_PROXY_H_
