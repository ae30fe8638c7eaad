#ifndef TANGRAM_TESTS_TESTING_HEAP_HEAP_METER_H_
#define TANGRAM_TESTS_TESTING_HEAP_HEAP_METER_H_

#include <cstdint>

namespace tangram::testing {

// Measures the most bytes that this program allocates with `new` while the
// meter exists, beyond those that it holds when the meter is made. Counts the
// bytes that the allocator gives, of all threads. Programs that use it replace
// the global operators new and delete. Only one meter may exist at a time.
class HeapMeter {
 public:
  HeapMeter();
  HeapMeter(const HeapMeter&) = delete;
  HeapMeter& operator=(const HeapMeter&) = delete;

  int64_t peak_bytes() const;

 private:
  int64_t before_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_HEAP_HEAP_METER_H_
