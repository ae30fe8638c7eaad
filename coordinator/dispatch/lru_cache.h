#ifndef TANGRAM_COORDINATOR_DISPATCH_LRU_CACHE_H_
#define TANGRAM_COORDINATOR_DISPATCH_LRU_CACHE_H_

#include <cstdint>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace tangram {

// A map of bounded size that evicts the least recently used entries. Sizes in
// bytes are the caller's estimates. Not thread-safe.
template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns null if there is none. Valid until the next Insert.
  const Value* Find(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return &it->second->value;
  }

  // Does nothing if the key is present or the value is larger than the cache.
  void Insert(const Key& key, Value value, int64_t bytes) {
    if (bytes > max_bytes_ || index_.contains(key)) return;
    entries_.push_front({key, bytes, std::move(value)});
    index_.emplace(key, entries_.begin());
    num_bytes_ += bytes;
    while (num_bytes_ > max_bytes_) {
      num_bytes_ -= entries_.back().bytes;
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

  int64_t num_entries() const { return static_cast<int64_t>(index_.size()); }
  int64_t num_bytes() const { return num_bytes_; }

 private:
  struct Entry {
    Key key;
    int64_t bytes = 0;
    Value value;
  };

  const int64_t max_bytes_;
  int64_t num_bytes_ = 0;
  std::list<Entry> entries_;  // Most recently used first.
  absl::flat_hash_map<Key, typename std::list<Entry>::iterator> index_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_LRU_CACHE_H_
