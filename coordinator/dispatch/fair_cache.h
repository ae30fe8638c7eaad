#ifndef TANGRAM_COORDINATOR_DISPATCH_FAIR_CACHE_H_
#define TANGRAM_COORDINATOR_DISPATCH_FAIR_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

namespace tangram {

// A map of bounded size whose entries have owners. While it is full, the owner
// with the most bytes loses its least recently used entry. So an owner with at
// most its share, the bound divided by the owners, loses nothing to others,
// however much they add. Owners that used nothing in the last whole period are
// gone, and lose their entries before all others. Sizes in bytes are the
// caller's estimates. Finding is O(1), adding O(log(owners)). Not thread-safe.
template <typename Key, typename Value>
class FairCache {
 public:
  explicit FairCache(int64_t max_bytes) : max_bytes_(max_bytes) {}
  FairCache(const FairCache&) = delete;
  FairCache& operator=(const FairCache&) = delete;

  // Returns null if there is none. Valid until the next Insert.
  const Value* Find(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    std::list<Entry>& entries = (*it)->owner->entries;
    entries.splice(entries.begin(), entries, *it);
    (*it)->owner->period = period_;
    return &(*it)->value;
  }

  // Does nothing if the key is present, whoever owns it, or the value is larger
  // than the cache.
  void Insert(const std::string& owner, const Key& key, Value value,
              int64_t bytes) {
    if (bytes > max_bytes_ || index_.contains(key)) return;
    Owner& its = owners_[owner];
    its.period = period_;
    its.entries.push_front({key, bytes, std::move(value), &its});
    index_.insert(its.entries.begin());
    Grow(owner, its, bytes);
    while (num_bytes_ > max_bytes_) EvictOf(NextToLose());
  }

  // Ends a period, of a length of the caller's choice.
  void EndPeriod() {
    gone_.clear();
    for (const auto& [name, owner] : owners_) {
      if (owner.period < period_) gone_.push_back(name);
    }
    ++period_;
  }

  void Clear() {
    index_.clear();
    by_bytes_.clear();
    gone_.clear();
    owners_.clear();
    num_bytes_ = 0;
  }

  int64_t num_entries() const { return static_cast<int64_t>(index_.size()); }
  int64_t num_bytes() const { return num_bytes_; }
  int64_t num_owners() const { return static_cast<int64_t>(owners_.size()); }

 private:
  struct Owner;
  struct Entry {
    Key key;
    int64_t bytes = 0;
    Value value;
    Owner* owner = nullptr;
  };
  struct Owner {
    std::list<Entry> entries;  // Most recently used first.
    int64_t bytes = 0;
    int64_t period = 0;  // The last one in which it used an entry.
  };
  using Place = typename std::list<Entry>::iterator;

  // The index finds entries by their keys, which only the lists hold.
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

  void Grow(const std::string& name, Owner& owner, int64_t bytes) {
    by_bytes_.erase({owner.bytes, name});
    owner.bytes += bytes;
    num_bytes_ += bytes;
    if (owner.bytes > 0) by_bytes_.insert({owner.bytes, name});
  }

  std::string NextToLose() {
    for (; !gone_.empty(); gone_.pop_back()) {
      const auto it = owners_.find(gone_.back());
      if (it != owners_.end() && it->second.period < period_) {
        return it->first;
      }
    }
    return by_bytes_.rbegin()->second;
  }

  // Owners without entries are forgotten.
  void EvictOf(const std::string& name) {
    Owner& owner = owners_.at(name);
    index_.erase(owner.entries.back().key);
    Grow(name, owner, -owner.entries.back().bytes);
    owner.entries.pop_back();
    if (owner.entries.empty()) owners_.erase(name);
  }

  const int64_t max_bytes_;
  int64_t num_bytes_ = 0;
  std::map<std::string, Owner> owners_;
  std::set<std::pair<int64_t, std::string>> by_bytes_;
  int64_t period_ = 0;
  std::vector<std::string> gone_;  // Unless they have come back.
  absl::flat_hash_set<Place, HashKey, EqualKeys> index_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_FAIR_CACHE_H_
