// How long workers may be silent, and which are lost.
#include <algorithm>
#include <optional>
#include <vector>

#include "coordinator/dispatch/work_queue.h"

namespace tangram {

void WorkQueue::Heard(WorkerId worker, double now_s) {
  if (const auto it = workers_.find(worker); it != workers_.end()) {
    it->second.last_heard_s = now_s;
    SetLostAt(worker, it->second, now_s + options_.silence_limit_s);
  }
}

// n workers that each send a message every T seconds send n / T a second:
//
//   T = n / max_idle_beats_per_s, but kHeartbeatS … kMaxSilenceS.
//
// The limit is as much later as T is longer than kHeartbeatS.
std::optional<double> WorkQueue::AllowSilence(WorkerId id) {
  const auto it = workers_.find(id);
  if (it == workers_.end() || !it->second.leases.empty()) return std::nullopt;
  const double silence_s = std::clamp(
      static_cast<double>(workers_.size()) / options_.max_idle_beats_per_s,
      kHeartbeatS, kMaxSilenceS);
  SetLostAt(id, it->second,
            it->second.last_heard_s + options_.silence_limit_s +
                (silence_s - kHeartbeatS));
  return silence_s;
}

void WorkQueue::SetLostAt(WorkerId id, Worker& worker, double at_s) {
  worker.lost_at_s = at_s;
  if (at_s >= worker.look_at_s) return;
  looks_.erase({worker.look_at_s, id});
  worker.look_at_s = at_s;
  looks_.insert({at_s, id});
}

std::vector<WorkerId> WorkQueue::SilentWorkers(double now_s) {
  std::vector<WorkerId> silent;
  for (auto look = looks_.begin();
       look != looks_.end() && look->first < now_s;) {
    const WorkerId id = look->second;
    Worker& worker = workers_.at(id);
    if (worker.lost_at_s < now_s) {
      silent.push_back(id);
      ++look;
      continue;
    }
    look = looks_.erase(look);
    worker.look_at_s = worker.lost_at_s;
    looks_.insert({worker.look_at_s, id});
  }
  std::sort(silent.begin(), silent.end());
  return silent;
}

}  // namespace tangram
