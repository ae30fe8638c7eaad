#include "coordinator/rpc/leases_of_stream.h"

namespace tangram {

void LeasesOfStream::Revoke(TaskId task) {
  if (open_.erase(task) == 0) return;
  revoked_.insert(task);
  revocations_.push_back(task);
  if (revocations_.size() <= max_revoked_) return;
  revoked_.erase(revocations_.front());
  revocations_.pop_front();
}

bool LeasesOfStream::End(TaskId task) {
  return open_.erase(task) > 0 || revoked_.erase(task) > 0;
}

}  // namespace tangram
