#ifndef TANGRAM_COMMON_MEMORY_MEMORY_ACCOUNT_H_
#define TANGRAM_COMMON_MEMORY_MEMORY_ACCOUNT_H_

#include <cstdint>

namespace tangram {

// Counts the bytes that one piece of work takes by `new` and gives back by
// `delete`, and tells when they are too many. Counts what the allocator gives,
// as malloc_usable_size(3) says it. Work that runs in several threads, or frees
// what others have allocated, is miscounted; see ChargeScope. Not
// thread-safe: used by the thread that does the work.
class MemoryAccount {
 public:
  // `max_bytes`: what the work may hold at once; 0: no limit.
  explicit MemoryAccount(int64_t max_bytes) : max_bytes_(max_bytes) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  int64_t max_bytes() const { return max_bytes_; }
  int64_t bytes() const { return bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }
  // Whether the work held more than it may, at any time. It should end soon.
  bool IsOver() const { return max_bytes_ > 0 && peak_bytes_ > max_bytes_; }

  // Called after the allocator; negative: given back.
  void Add(int64_t bytes) {
    bytes_ += bytes;
    if (bytes_ > peak_bytes_) peak_bytes_ = bytes_;
  }

 private:
  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  int64_t peak_bytes_ = 0;
};

// While it exists, the `new` and `delete` of this thread count towards an
// account. Null: towards none, for calls into what other threads share. Scopes
// nest.
class ChargeScope {
 public:
  explicit ChargeScope(MemoryAccount* account);
  ~ChargeScope();
  ChargeScope(const ChargeScope&) = delete;
  ChargeScope& operator=(const ChargeScope&) = delete;

 private:
  MemoryAccount* const outer_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_MEMORY_MEMORY_ACCOUNT_H_
