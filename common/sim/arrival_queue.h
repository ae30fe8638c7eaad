#ifndef TANGRAM_COMMON_SIM_ARRIVAL_QUEUE_H_
#define TANGRAM_COMMON_SIM_ARRIVAL_QUEUE_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace tangram {

// The times at which the inputs of a stage arrive, first in, first out. Its
// memory grows with the most inputs that ever waited, not with their number. A
// std::deque allocates while it moves along, which would take most of the time
// here.
template <typename Time>
class ArrivalQueue {
 public:
  bool empty() const { return head_ == tail_; }
  // Removes and returns the earliest time. The queue must not be empty.
  Time Pop() { return ring_[head_++ & (ring_.size() - 1)]; }
  void Push(Time arrival) {
    if (tail_ - head_ == ring_.size()) Grow();
    ring_[tail_++ & (ring_.size() - 1)] = arrival;
  }
  size_t size() const { return tail_ - head_; }
  // Calls `visit` with every waiting time, the next one first.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t i = head_; i != tail_; ++i)
      visit(ring_[i & (ring_.size() - 1)]);
  }

 private:
  void Grow() {
    std::vector<Time> larger(2 * ring_.size());
    size_t count = 0;
    while (!empty()) larger[count++] = Pop();
    ring_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  std::vector<Time> ring_ = std::vector<Time>(2);  // Size: a power of two.
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_ARRIVAL_QUEUE_H_
