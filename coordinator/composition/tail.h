#ifndef TANGRAM_COORDINATOR_COMPOSITION_TAIL_H_
#define TANGRAM_COORDINATOR_COMPOSITION_TAIL_H_

#include <compare>
#include <cstdint>

#include "coordinator/composition/compose_pipeline.h"

namespace tangram {

// A partial pipeline over atoms [a, num_atoms), where `a` is the index of its
// table. Times are in seconds.
struct Tail {
  double latency_s = 0;  // L = Σ t_s.
  // T = max t_s, raised to the lower bound of the atoms before it. The final
  // value cannot be lower, so nothing is lost, and more tails dominate others.
  double slowest_s = 0;
  // E: exposed synchronisation so far, raised to what the atoms before it hide
  // in any case.
  double exposed_s = 0;
  int num_stages = 0;       // S.
  bool optimistic = false;  // True if some slice is.
  int num_better = 0;       // Number of tails in its set that dominate it.
  int slices = -1;          // Index of its SliceList.
};

// The slices of a tail, to unwind it. Kept after the tail is dropped, as others
// may continue it.
struct SliceList {
  ComposedSlice head;  // The first slice.
  int rest = -1;       // Index of the slices after it; -1: none.
};

// The state of the dynamic program, besides the first atom: all that a slice in
// front of the tail depends on.
struct TailKey {
  uint32_t islands = 0;  // Islands in use, a bit each.
  int front_island = 0;  // Island of the first slice.
  int front_gpus = 0;    // GPUs of the first stage.
  int num_gpus = 0;      // GPUs of all stages; 0 if any number is accepted.
  auto operator<=>(const TailKey&) const = default;
};

// True if `a` is at most `b` in all of (L, T, E, S), where S counts up to
// `stages_told_apart`. The recurrences of Pass are monotone in these, so a
// pipeline that ends with `b` becomes no worse with `a` in its place.
inline bool Dominates(const Tail& a, const Tail& b, int stages_told_apart) {
  return a.latency_s <= b.latency_s && a.slowest_s <= b.slowest_s &&
         a.exposed_s <= b.exposed_s &&
         (a.num_stages <= b.num_stages || b.num_stages >= stages_told_apart);
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_TAIL_H_
