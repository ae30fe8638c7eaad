#ifndef TANGRAM_COMMON_HTTP_OPEN_CONNECTIONS_H_
#define TANGRAM_COMMON_HTTP_OPEN_CONNECTIONS_H_

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <set>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// The connections of an HTTP server, by their sockets. Those that have sent no
// whole request yet make room for others. Thread-safe.
class OpenConnections {
 public:
  // A connection without a whole request that has been open for `longest` ends
  // when another one comes, and so do the oldest of these while there are more
  // than `max_connections` of all kinds. It may send a byte now and then.
  OpenConnections(size_t max_connections, std::chrono::seconds longest)
      : max_connections_(max_connections), longest_(longest) {}

  // Ends those that have been open for too long, so that `socket` has room.
  void Add(int socket) {
    const auto now = std::chrono::steady_clock::now();
    const MutexLock lock(mutex_);
    by_age_.emplace(now, socket);
    began_[socket] = now;
    for (auto it = by_age_.begin(); it != by_age_.end();) {
      const bool is_old = now - it->first > longest_;
      const bool are_many = began_.size() + whole_.size() > max_connections_ &&
                            began_.size() > kYoungest;
      if (!is_old && !are_many) break;
      // The library sees the end and closes the socket.
      shutdown(it->second, SHUT_RDWR);
      began_.erase(it->second);
      it = by_age_.erase(it);
    }
  }
  // Its request is whole, and may take long. It counts, and nothing ends it.
  void KeepWhole(int socket) {
    const MutexLock lock(mutex_);
    if (Forget(socket)) whole_.insert(socket);
  }
  // The library closes the socket only after this returns, so that Add does not
  // end the next one of its number. Does nothing if it is not there any more.
  void Remove(int socket) {
    const MutexLock lock(mutex_);
    if (!Forget(socket)) whole_.erase(socket);
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  // However many whole requests there are, new ones have time to come.
  static constexpr size_t kYoungest = 64;

  // Returns whether the socket was among those without a whole request.
  bool Forget(int socket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto began = began_.find(socket);
    if (began == began_.end()) return false;
    const auto [first, last] = by_age_.equal_range(began->second);
    for (auto it = first; it != last; ++it) {
      if (it->second != socket) continue;
      by_age_.erase(it);
      break;
    }
    began_.erase(began);
    return true;
  }

  const size_t max_connections_;
  const std::chrono::seconds longest_;
  Mutex mutex_;
  std::multimap<Time, int> by_age_ ABSL_GUARDED_BY(mutex_);
  std::map<int, Time> began_ ABSL_GUARDED_BY(mutex_);
  std::set<int> whole_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_OPEN_CONNECTIONS_H_
