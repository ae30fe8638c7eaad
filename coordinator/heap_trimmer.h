#ifndef TANGRAM_COORDINATOR_HEAP_TRIMMER_H_
#define TANGRAM_COORDINATOR_HEAP_TRIMMER_H_

#include <cstdint>
#include <functional>

namespace tangram {

// Decides when free memory of the heap goes back to the system. Plans and large
// messages are freed in small pieces, which the allocator keeps. Giving them
// back locks the heap for up to half a second, and plans that run then fetch
// the same pages again. So it is done
// - as soon as nothing runs any more, and every 5 s then,
// - while plans run, within 5 s after much has been taken, and every minute.
// Thread-compatible.
class HeapTrimmer {
 public:
  struct Options {
    int ticks_between_looks = 20;   // 5 s.
    int ticks_between_trims = 240;  // While plans run.
    double much_bytes = 64 << 20;
    std::function<double()> resident_bytes;
    std::function<void()> trim;
  };

  explicit HeapTrimmer(Options options);

  // Called four times a second. `num_ended`: plans that have ended so far.
  void Tick(int64_t num_ended, bool is_idle);

 private:
  bool ShouldTrim(bool is_idle) const;

  const Options options_;
  int64_t ticks_ = 0;
  int64_t num_ended_ = 0;     // At the last tick.
  bool has_run_ = false;      // Something, since the last trim.
  double trimmed_bytes_ = 0;  // Resident after the last trim.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_HEAP_TRIMMER_H_
