#ifndef TANGRAM_COORDINATOR_SERVICE_JOB_WATCHERS_H_
#define TANGRAM_COORDINATOR_SERVICE_JOB_WATCHERS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tangram {

// Who wants to know that something happened to a job. Thread-safe.
class JobWatchers {
 public:
  // Called from any thread; must be short.
  using OnChange = std::function<void()>;

  // Until the handle is dropped, after which `on_change` may still be running.
  std::shared_ptr<void> Watch(const std::string& job_id, OnChange on_change);

  void Notify(const std::string& job_id);
  // Of all jobs: another coordinator may have done something.
  void NotifyAll();

 private:
  std::mutex mutex_;
  std::multimap<std::string, std::weak_ptr<OnChange>> watchers_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_SERVICE_JOB_WATCHERS_H_
