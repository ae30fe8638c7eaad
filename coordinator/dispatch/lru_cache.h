#ifndef TANGRAM_COORDINATOR_DISPATCH_LRU_CACHE_H_
#define TANGRAM_COORDINATOR_DISPATCH_LRU_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

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
    entries_.splice(entries_.begin(), entries_, *it);
    return &(*it)->value;
  }

  // Does nothing if the key is present or the value is larger than the cache.
  void Insert(const Key& key, Value value, int64_t bytes) {
    if (bytes > max_bytes_ || index_.contains(key)) return;
    entries_.push_front({key, bytes, std::move(value)});
    index_.insert(entries_.begin());
    num_bytes_ += bytes;
    while (num_bytes_ > max_bytes_) {
      num_bytes_ -= entries_.back().bytes;
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

  void Clear() {
    index_.clear();
    entries_.clear();
    num_bytes_ = 0;
  }

  int64_t num_entries() const { return static_cast<int64_t>(index_.size()); }
  int64_t num_bytes() const { return num_bytes_; }

 private:
  struct Entry {
    Key key;
    int64_t bytes = 0;
    Value value;
  };
  using Place = typename std::list<Entry>::iterator;

  // The index finds entries by their keys, which only the list holds.
  static const Key& KeyOf(const Key& key) { return key; }
  static const Key& KeyOf(const Place& place) { return place->key; }
  struct HashKey {
    using is_transparent = void;
    template <typename T>
    size_t operator()(const T& place) const {
      return absl::Hash<Key>()(KeyOf(place));
    }
  };
  struct EqualKeys {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) == KeyOf(b);
    }
  };

  const int64_t max_bytes_;
  int64_t num_bytes_ = 0;
  std::list<Entry> entries_;  // Most recently used first.
  absl::flat_hash_set<Place, HashKey, EqualKeys> index_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_LRU_CACHE_H_
