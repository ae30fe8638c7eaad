#include "coordinator/heap_trimmer.h"

#include <utility>

namespace tangram {

HeapTrimmer::HeapTrimmer(Options options) : options_(std::move(options)) {}

void HeapTrimmer::Tick(int64_t num_ended, bool is_idle) {
  ++ticks_;
  if (!ShouldTrim(num_ended, is_idle)) return;
  options_.trim();
  num_ended_ = num_ended;
  trimmed_bytes_ = options_.resident_bytes();
}

bool HeapTrimmer::ShouldTrim(int64_t num_ended, bool is_idle) const {
  if (is_idle && num_ended > num_ended_) return true;
  if (ticks_ % options_.ticks_between_looks != 0) return false;
  return is_idle || ticks_ % options_.ticks_between_trims == 0 ||
         options_.resident_bytes() > trimmed_bytes_ + options_.much_bytes;
}

}  // namespace tangram
