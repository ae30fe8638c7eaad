#include "coordinator/heap_trimmer.h"

#include <utility>

namespace tangram {

HeapTrimmer::HeapTrimmer(Options options) : options_(std::move(options)) {}

void HeapTrimmer::Tick(int64_t num_ended, bool is_idle) {
  ++ticks_;
  has_run_ = has_run_ || !is_idle || num_ended > num_ended_;
  num_ended_ = num_ended;
  if (!ShouldTrim(is_idle)) return;
  options_.trim();
  has_run_ = !is_idle;
  trimmed_bytes_ = options_.resident_bytes();
}

bool HeapTrimmer::ShouldTrim(bool is_idle) const {
  if (is_idle && has_run_) return true;
  if (ticks_ % options_.ticks_between_looks != 0) return false;
  return is_idle || ticks_ % options_.ticks_between_trims == 0 ||
         options_.resident_bytes() > trimmed_bytes_ + options_.much_bytes;
}

}  // namespace tangram
