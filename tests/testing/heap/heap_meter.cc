#include "tests/testing/heap/heap_meter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace tangram::testing {
namespace {

std::atomic<int64_t> live_bytes = 0;
std::atomic<int64_t> peak_bytes_now = 0;

void* Allocate(size_t size, size_t alignment) {
  void* memory =
      alignment == 0 ? std::malloc(size) : std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  const auto bytes = static_cast<int64_t>(malloc_usable_size(memory));
  const int64_t live = live_bytes.fetch_add(bytes) + bytes;
  int64_t peak = peak_bytes_now.load();
  while (live > peak && !peak_bytes_now.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

// The standard demands a multiple of the alignment.
size_t RoundUp(size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return (size + unit - 1) / unit * unit;
}

}  // namespace

HeapMeter::HeapMeter() : before_(live_bytes) { peak_bytes_now = before_; }

int64_t HeapMeter::peak_bytes() const { return peak_bytes_now - before_; }

}  // namespace tangram::testing

void* operator new(size_t size) { return tangram::testing::Allocate(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) {
  return tangram::testing::Allocate(tangram::testing::RoundUp(size, alignment),
                                    static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { tangram::testing::Free(memory); }
void operator delete(void* memory, size_t) noexcept {
  tangram::testing::Free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  tangram::testing::Free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  tangram::testing::Free(memory);
}
