#include "common/memory/memory_account.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace tangram {
namespace {

// The account of this thread's present scope.
thread_local MemoryAccount* charged = nullptr;

void* AllocateCharged(size_t size, size_t alignment) {
  MemoryAccount* const account = charged;
  if (account != nullptr) account->CheckRoom(static_cast<int64_t>(size));
  // The standard demands a pointer for 0 bytes, and a multiple of alignments.
  void* const memory =
      alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                     : std::aligned_alloc(alignment, (size + alignment - 1) /
                                                         alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  if (account != nullptr) {
    account->Add(static_cast<int64_t>(malloc_usable_size(memory)));
  }
  return memory;
}

void FreeCharged(void* memory) {
  if (charged != nullptr && memory != nullptr) {
    charged->Add(-static_cast<int64_t>(malloc_usable_size(memory)));
  }
  std::free(memory);
}

}  // namespace

void MemoryAccount::CheckRoom(int64_t bytes) {
  if (max_bytes_ <= 0 || has_thrown_) return;
  constexpr int64_t kShareOfSlack = 4;
  const int64_t most = max_bytes_ + max_bytes_ / kShareOfSlack;
  if (bytes <= most && bytes_ <= most - bytes) return;
  has_thrown_ = true;
  // IsOver must say so, though the bytes were never taken.
  peak_bytes_ = std::max(peak_bytes_, max_bytes_ + 1);
  throw std::bad_alloc();
}

ChargeScope::ChargeScope(MemoryAccount* account)
    : outer_(std::exchange(charged, account)) {}

ChargeScope::~ChargeScope() { charged = outer_; }

}  // namespace tangram

// The other forms of the standard library call these.
void* operator new(size_t size) { return tangram::AllocateCharged(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) {
  return tangram::AllocateCharged(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { tangram::FreeCharged(memory); }
void operator delete(void* memory, size_t) noexcept {
  tangram::FreeCharged(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  tangram::FreeCharged(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  tangram::FreeCharged(memory);
}
